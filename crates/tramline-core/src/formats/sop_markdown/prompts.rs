//! The instructions for nodes, in each of the three layouts that files use.

use super::nodes::{self, Said};
use super::outline::{Block, Outline, Section};
use super::{NODES_MAX, Reader};
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::sop::Sop;
use std::collections::HashSet;
use std::ops::Range;

/// What the file says of a node, and where.
pub(super) struct Given {
    pub(super) id: String,
    pub(super) place: Place,
    pub(super) said: Said,
}

impl Reader<'_> {
    /// Everything that the file says of nodes outside of the drawing.
    pub(super) fn prompts(&mut self, outline: &Outline, sop: &Sop) -> Vec<Given> {
        let drawn: HashSet<&str> = sop.nodes.iter().map(|it| it.id.as_str()).collect();
        let mut given = Vec::new();
        for section in outline.sections.iter().filter(|it| it.holds_prompts()) {
            let whole = section.whole(outline);
            let blocks = outline.blocks.iter();
            let blocks: Vec<&Block> = blocks
                .filter(|it| whole.contains(&it.whole.start))
                .collect();
            if section.title.to_lowercase().starts_with("sop") {
                self.policies(&whole, &blocks, &mut given);
                continue;
            }
            let head = blocks
                .iter()
                .filter(|it| section.text.contains(&it.whole.start));
            for block in head {
                self.mapped(block, &mut given);
            }
            for (below, is_drawn) in headings(section, outline, &drawn) {
                let text = match is_drawn {
                    true => below.whole(outline),
                    false => below.text.clone(),
                };
                self.under_heading(below, text, outline, &mut given);
            }
            if given.len() > NODES_MAX {
                break;
            }
        }
        given
    }

    /// A heading with the node's id, a block of YAML, and prose.
    fn under_heading(
        &mut self,
        section: &Section,
        text: Range<usize>,
        outline: &Outline,
        given: &mut Vec<Given>,
    ) {
        let id = id_of(section);
        let blocks = outline.blocks.iter();
        let mut blocks = blocks.filter(|it| section.text.contains(&it.whole.start));
        let yaml = blocks.find(|it| matches!(it.language.as_str(), "yaml" | "yml"));
        let mut said = yaml.map_or_else(Said::default, |block| self.said(block));
        let prose = match yaml {
            Some(block) => {
                let before = self.text[section.text.start..block.whole.start].trim();
                let after = self.text[block.whole.end..text.end].trim();
                [before, after].join("\n").trim().to_owned()
            }
            None => self.text[text].trim().to_owned(),
        };
        if !prose.is_empty() {
            said.prompt = Some(prose.into());
        }
        given.push(Given {
            id,
            place: self.lines.place(section.heading.clone()),
            said,
        });
    }

    fn said(&mut self, block: &Block) -> Said {
        let Some((tree, before)) = self.yaml(block.inside.clone()) else {
            return Said::default();
        };
        let mut flaws = Flaws::default();
        let mut said = nodes::read(tree.root(), &mut flaws);
        said.shift(before);
        self.absorb(flaws.sorted(), before);
        said
    }

    /// One block of YAML in which each node has its key, under `node_prompts` or at the top.
    fn mapped(&mut self, block: &Block, given: &mut Vec<Given>) {
        if !matches!(block.language.as_str(), "yaml" | "yml" | "") {
            return;
        }
        let Some((tree, before)) = self.yaml(block.inside.clone()) else {
            return;
        };
        let root = tree.root();
        let map = root.get("node_prompts").unwrap_or(root);
        let mut flaws = Flaws::default();
        for (slot, (id, at)) in map.fields().enumerate() {
            let mut said = nodes::read(at, &mut flaws);
            said.shift(before);
            let mut place = map.key_place(slot);
            place.line += before;
            place.end_line += before;
            given.push(Given {
                id: id.to_string(),
                place,
                said,
            });
        }
        self.absorb(flaws.sorted(), before);
    }

    /// Lines of `NODE:` with `tool_hints:` and `policy:` indented below, as YAML or nearly so.
    fn policies(&mut self, whole: &Range<usize>, blocks: &[&Block], given: &mut Vec<Given>) {
        let fenced: Vec<&Block> = blocks
            .iter()
            .filter(|it| matches!(it.language.as_str(), "yaml" | "yml"))
            .copied()
            .collect();
        for block in &fenced {
            self.mapped(block, given);
        }
        if !fenced.is_empty() {
            return;
        }
        let mut at = whole.start;
        let mut current: Option<(Range<usize>, String, usize)> = None;
        for line in self.text[whole.clone()].split_inclusive('\n') {
            let start = at;
            at += line.len();
            let Some(id) = entry(line) else { continue };
            if let Some((spot, id, from)) = current.take() {
                given.push(self.policy(spot, id, from..start));
            }
            current = Some((start..start + id.len(), id.to_owned(), at));
        }
        if let Some((spot, id, from)) = current {
            given.push(self.policy(spot, id, from..whole.end));
        }
    }

    fn policy(&mut self, spot: Range<usize>, id: String, body: Range<usize>) -> Given {
        let place = self.lines.place(spot);
        let mut said = Said::default();
        let mut prompt: Vec<&str> = Vec::new();
        let mut in_policy = false;
        for line in self.text[body].lines() {
            let trimmed = line.trim();
            if let Some(list) = trimmed.strip_prefix("tool_hints:") {
                in_policy = false;
                let list = list.trim().trim_start_matches('[').trim_end_matches(']');
                let names = list
                    .split(',')
                    .map(|it| it.trim().trim_matches(['"', '\'']));
                let names = names.filter(|it| !it.is_empty());
                said.tools
                    .extend(names.map(|it| (it.into(), place.clone())));
            } else if let Some(text) = trimmed.strip_prefix("policy:") {
                in_policy = true;
                let text = text
                    .trim()
                    .trim_start_matches(['|', '>'])
                    .trim_start_matches('-');
                prompt.extend(Some(text.trim()).filter(|it| !it.is_empty()));
            } else if in_policy || !trimmed.is_empty() {
                prompt.push(trimmed);
            }
        }
        let text = prompt.join("\n").trim().to_owned();
        said.prompt = Some(text.into()).filter(|it: &tramline_expr::Str| !it.is_empty());
        Given { id, place, said }
    }

    /// Notes something that is said twice of one node.
    pub(super) fn twice(&mut self, given: &Given) {
        self.flaws.add(
            Code::Duplicate,
            given.place.clone(),
            format!("`{}` has instructions twice", given.id),
            "keep one of the two sections",
        );
    }
}

/// The node that a heading names: its first word.
fn id_of(section: &Section) -> String {
    let title = section.title.replace('`', "");
    let id = title.split([' ', ':', '\t']).next().unwrap_or_default();
    id.to_owned()
}

/// The headings that begin instructions for a node, and whether the node is drawn. A heading inside
/// the section of a drawn node is part of its instructions.
fn headings<'o>(
    section: &Section,
    outline: &'o Outline,
    drawn: &HashSet<&str>,
) -> Vec<(&'o Section, bool)> {
    let mut found: Vec<(&Section, bool)> = Vec::new();
    for below in section.below(outline) {
        let is_drawn = drawn.contains(id_of(below).as_str());
        let above = found.last().filter(|(above, _)| above.level < below.level);
        if above.is_none_or(|(_, above_is_drawn)| !above_is_drawn && is_drawn) {
            found.push((below, is_drawn));
        }
    }
    found
}

/// The id of a line that begins an entry: at the edge of the page, a word and a colon.
fn entry(line: &str) -> Option<&str> {
    let id = line.trim_end().strip_suffix(':')?;
    let id = id.strip_prefix("NODE ").unwrap_or(id);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!id.is_empty() && id.chars().all(plain) && !line.starts_with([' ', '\t'])).then_some(id)
}
