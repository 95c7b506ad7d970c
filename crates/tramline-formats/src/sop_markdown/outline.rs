//! The outline of a Markdown file: frontmatter, headings, fenced blocks.

use std::ops::Range;

/// The parts of a file, as byte ranges.
#[derive(Debug, Default)]
pub(super) struct SopOutline {
    /// The frontmatter between the `---` lines.
    pub(super) frontmatter: Option<Range<usize>>,
    /// The start of the rest.
    pub(super) body: usize,
    /// The headings, each with the text up to the next.
    pub(super) sections: Vec<OutlineSection>,
    /// The fenced blocks.
    pub(super) blocks: Vec<FencedBlock>,
}

/// A heading and the text up to the next heading.
#[derive(Debug)]
pub(super) struct OutlineSection {
    pub(super) level: usize,
    pub(super) title: String,
    pub(super) heading: Range<usize>,
    /// The text up to the next heading of any level.
    pub(super) text: Range<usize>,
    index: usize,
}

/// A fenced block.
#[derive(Debug)]
pub(super) struct FencedBlock {
    /// The word after the fence, in lower case.
    pub(super) language: String,
    /// The whole block.
    pub(super) whole: Range<usize>,
    /// Its content.
    pub(super) content: Range<usize>,
}

impl OutlineSection {
    /// Whether it contains the instructions for nodes.
    pub(super) fn contains_instructions(&self) -> bool {
        let title = self.title.to_lowercase();
        title.starts_with("node prompts") || title.starts_with("sop node policies")
    }

    /// The text below this heading, including its subsections.
    pub(super) fn full_range(&self, outline: &SopOutline) -> Range<usize> {
        let after = &outline.sections[self.index + 1..];
        let next = after.iter().find(|it| it.level <= self.level);
        let end = outline
            .sections
            .last()
            .map_or(self.text.end, |it| it.text.end);
        self.text.start..next.map_or(end, |it| it.heading.start)
    }

    /// The subsections of this one.
    pub(super) fn subsections<'o>(
        &self,
        outline: &'o SopOutline,
    ) -> impl Iterator<Item = &'o OutlineSection> {
        let level = self.level;
        outline.sections[self.index + 1..]
            .iter()
            .take_while(move |it| it.level > level)
    }
}

impl SopOutline {
    /// The outline of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut outline = Self::default();
        if let Some((front, after)) = frontmatter_range(text) {
            outline.frontmatter = Some(front);
            outline.body = after;
        }
        let mut at = outline.body;
        let mut fence: Option<(usize, char, usize, String, usize)> = None;
        for line in text[at..].split_inclusive('\n') {
            let start = at;
            at += line.len();
            let bare = line.trim_end();
            let trimmed = bare.trim_start();
            match &fence {
                Some((opened, mark, count, language, inside)) => {
                    if is_closing_fence(trimmed, *mark, *count) {
                        outline.blocks.push(FencedBlock {
                            language: language.clone(),
                            whole: *opened..at,
                            content: *inside..start,
                        });
                        fence = None;
                    }
                }
                None => match opening_fence(trimmed) {
                    Some((mark, count, language)) => {
                        fence = Some((start, mark, count, language, at));
                    }
                    None => outline.add_heading(bare, start, at),
                },
            }
        }
        // An unclosed block extends to the end.
        if let Some((opened, _, _, language, inside)) = fence {
            outline.blocks.push(FencedBlock {
                language,
                whole: opened..text.len(),
                content: inside..text.len(),
            });
        }
        if let Some(last) = outline.sections.last_mut() {
            last.text.end = text.len();
        }
        outline
    }

    fn add_heading(&mut self, line: &str, start: usize, end: usize) {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let Some(title) = line[level..].strip_prefix([' ', '\t']) else {
            return;
        };
        if !(1..=6).contains(&level) {
            return;
        }
        if let Some(last) = self.sections.last_mut() {
            last.text.end = start;
        }
        self.sections.push(OutlineSection {
            level,
            title: title.trim().trim_end_matches('#').trim_end().to_owned(),
            heading: start..end,
            text: end..end,
            index: self.sections.len(),
        });
    }

    /// The byte range of the flowchart: in a block below a heading that mentions it, in the first block
    /// that contains one, or the whole file.
    pub(super) fn chart_range(&self, text: &str) -> Option<Range<usize>> {
        let drawn = |block: &&FencedBlock| {
            let head = text[block.content.clone()].trim_start();
            block.language == "mermaid" || (block.language.is_empty() && is_chart(head))
        };
        let named = self.sections.iter().filter(|it| {
            let title = it.title.to_lowercase();
            title.contains("flowchart") && !it.contains_instructions()
        });
        let inside = |range: Range<usize>| {
            let mut blocks = self.blocks.iter().filter(drawn);
            blocks.find(|block| range.contains(&block.whole.start))
        };
        named
            .filter_map(|it| inside(it.full_range(self)))
            .chain(self.blocks.iter().filter(drawn))
            .map(|block| block.content.clone())
            .next()
            .or_else(|| self.is_bare(text).then_some(self.body..text.len()))
    }

    /// Whether the file is only a flowchart.
    fn is_bare(&self, text: &str) -> bool {
        let mut lines = text[self.body..].lines().map(str::trim);
        lines
            .find(|line| !line.is_empty() && !line.starts_with("%%"))
            .is_some_and(is_chart)
    }
}

fn is_chart(text: &str) -> bool {
    let word = text.split(|c: char| c.is_whitespace() || c == ';').next();
    matches!(word, Some("graph" | "flowchart" | "flowchart-elk"))
}

/// The fence opened by a line: its character, their count, and the word after it.
fn opening_fence(line: &str) -> Option<(char, usize, String)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    let rest = line[count..].trim();
    if count < 3 || (mark == '`' && rest.contains('`')) {
        return None;
    }
    let word = rest.split([' ', '\t', '{']).next().unwrap_or_default();
    Some((mark, count, word.to_lowercase()))
}

fn is_closing_fence(line: &str, mark: char, count: usize) -> bool {
    line.chars().take_while(|c| *c == mark).count() >= count && line.chars().all(|c| c == mark)
}

/// The frontmatter, and the start of the text after it.
fn frontmatter_range(text: &str) -> Option<(Range<usize>, usize)> {
    let first = text.split_inclusive('\n').next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = first.len();
    for line in text[at..].split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((first.len()..at, at + line.len()));
        }
        at += line.len();
    }
    None
}
