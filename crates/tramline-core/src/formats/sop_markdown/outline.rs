//! The outline of a Markdown file: frontmatter, headings, fenced blocks.

use std::ops::Range;

/// What a file is made of, by bytes.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The lines between `---` at the beginning.
    pub(super) front: Option<Range<usize>>,
    /// Where the rest begins.
    pub(super) body: usize,
    /// The headings with what follows them up to the next.
    pub(super) sections: Vec<Section>,
    /// The fenced blocks.
    pub(super) blocks: Vec<Block>,
}

/// A heading and the text up to the next one.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) level: usize,
    pub(super) title: String,
    pub(super) heading: Range<usize>,
    /// What follows, up to the next heading of any level.
    pub(super) text: Range<usize>,
    place: usize,
}

/// A fenced block.
#[derive(Debug)]
pub(super) struct Block {
    /// The word behind the fence, in lower case.
    pub(super) language: String,
    /// All of it.
    pub(super) whole: Range<usize>,
    /// What is inside.
    pub(super) inside: Range<usize>,
}

impl Section {
    /// Whether instructions for nodes are below it.
    pub(super) fn holds_prompts(&self) -> bool {
        let title = self.title.to_lowercase();
        title.starts_with("node prompts") || title.starts_with("sop node policies")
    }

    /// The text below this heading up to the next one that is not under it.
    pub(super) fn whole(&self, outline: &Outline) -> Range<usize> {
        let after = &outline.sections[self.place + 1..];
        let next = after.iter().find(|it| it.level <= self.level);
        let end = outline
            .sections
            .last()
            .map_or(self.text.end, |it| it.text.end);
        self.text.start..next.map_or(end, |it| it.heading.start)
    }

    /// The headings below this one.
    pub(super) fn below<'o>(&self, outline: &'o Outline) -> impl Iterator<Item = &'o Section> {
        let level = self.level;
        outline.sections[self.place + 1..]
            .iter()
            .take_while(move |it| it.level > level)
    }
}

impl Outline {
    /// The outline of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut outline = Self::default();
        if let Some((front, after)) = front(text) {
            outline.front = Some(front);
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
                    if closes(trimmed, *mark, *count) {
                        outline.blocks.push(Block {
                            language: language.clone(),
                            whole: *opened..at,
                            inside: *inside..start,
                        });
                        fence = None;
                    }
                }
                None => match opens(trimmed) {
                    Some((mark, count, language)) => {
                        fence = Some((start, mark, count, language, at));
                    }
                    None => outline.heading(bare, start, at),
                },
            }
        }
        // A block that is never closed goes on to the end.
        if let Some((opened, _, _, language, inside)) = fence {
            outline.blocks.push(Block {
                language,
                whole: opened..text.len(),
                inside: inside..text.len(),
            });
        }
        if let Some(last) = outline.sections.last_mut() {
            last.text.end = text.len();
        }
        outline
    }

    fn heading(&mut self, line: &str, start: usize, end: usize) {
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
        self.sections.push(Section {
            level,
            title: title.trim().trim_end_matches('#').trim_end().to_owned(),
            heading: start..end,
            text: end..end,
            place: self.sections.len(),
        });
    }

    /// Where the flowchart stands: in a block under a heading that names it, in the first block that
    /// has one, or in the whole file.
    pub(super) fn chart(&self, text: &str) -> Option<Range<usize>> {
        let drawn = |block: &&Block| {
            let head = text[block.inside.clone()].trim_start();
            block.language == "mermaid" || (block.language.is_empty() && is_chart(head))
        };
        let named = self.sections.iter().filter(|it| {
            let title = it.title.to_lowercase();
            title.contains("flowchart") && !it.holds_prompts()
        });
        let inside = |range: Range<usize>| {
            let mut blocks = self.blocks.iter().filter(drawn);
            blocks.find(|block| range.contains(&block.whole.start))
        };
        named
            .filter_map(|it| inside(it.whole(self)))
            .chain(self.blocks.iter().filter(drawn))
            .map(|block| block.inside.clone())
            .next()
            .or_else(|| self.is_bare(text).then_some(self.body..text.len()))
    }

    /// Whether the file is a flowchart and nothing else.
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

/// The fence that a line opens: its mark, how often that stands, and the word behind it.
fn opens(line: &str) -> Option<(char, usize, String)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    let rest = line[count..].trim();
    if count < 3 || (mark == '`' && rest.contains('`')) {
        return None;
    }
    let word = rest.split([' ', '\t', '{']).next().unwrap_or_default();
    Some((mark, count, word.to_lowercase()))
}

fn closes(line: &str, mark: char, count: usize) -> bool {
    line.chars().take_while(|c| *c == mark).count() >= count && line.chars().all(|c| c == mark)
}

/// The frontmatter and where the text after it begins.
fn front(text: &str) -> Option<(Range<usize>, usize)> {
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
