//! The instructions for nodes, in each of the three supported layouts.

use super::node_settings::{self, NodeSettings};
use super::outline::{FencedBlock, OutlineSection, SopOutline};
use super::{NODES_MAX, SopReader};
use std::collections::HashSet;
use std::ops::Range;
use tramline_syntax::{FlawCollector, document};
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::sop::Sop;

/// The settings of a node with their location.
pub(super) struct NodeSection {
    pub(super) id: String,
    pub(super) place: SourceSpan,
    pub(super) settings: NodeSettings,
}

impl SopReader<'_> {
    /// Reads all node settings outside of the flowchart.
    pub(super) fn read_instructions(
        &mut self,
        outline: &SopOutline,
        sop: &Sop,
    ) -> Vec<NodeSection> {
        let drawn: HashSet<&str> = sop.nodes.iter().map(|it| it.id.as_str()).collect();
        let mut given = Vec::new();
        for section in outline
            .sections
            .iter()
            .filter(|it| it.contains_instructions())
        {
            let whole = section.full_range(outline);
            let blocks = outline.blocks.iter();
            let blocks: Vec<&FencedBlock> = blocks
                .filter(|it| whole.contains(&it.whole.start))
                .collect();
            if section.title.to_lowercase().starts_with("sop") {
                self.read_policies(&whole, &blocks, &mut given);
                continue;
            }
            let head = blocks
                .iter()
                .filter(|it| section.text.contains(&it.whole.start));
            for block in head {
                self.read_mapped(block, &mut given);
            }
            for (below, is_drawn) in instruction_headings(section, outline, &drawn) {
                let text = match is_drawn {
                    true => below.full_range(outline),
                    false => below.text.clone(),
                };
                self.read_heading(below, text, outline, &mut given);
            }
            if given.len() > NODES_MAX {
                break;
            }
        }
        given
    }

    /// Reads a heading with the node's id, followed by a YAML block and prose.
    fn read_heading(
        &mut self,
        section: &OutlineSection,
        text: Range<usize>,
        outline: &SopOutline,
        given: &mut Vec<NodeSection>,
    ) {
        let id = heading_node_id(section);
        let blocks = outline.blocks.iter();
        let blocks = blocks.filter(|it| section.text.contains(&it.whole.start));
        let mut blocks = blocks.filter(|it| matches!(it.language.as_str(), "yaml" | "yml"));
        let yaml = blocks.next();
        for further in blocks {
            self.report_further_settings(&id, further);
        }
        let mut said = yaml.map_or_else(NodeSettings::default, |block| self.read_settings(block));
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
        let heading = section.heading.clone();
        let place = match self.text[heading.clone()].find(id.as_str()) {
            Some(at) => heading.start + at..heading.start + at + id.len(),
            None => heading,
        };
        given.push(NodeSection {
            id,
            place: self.lines.source_span(place),
            settings: said,
        });
    }

    /// Settings in a second block would silently not apply. Other YAML belongs to the instructions.
    fn report_further_settings(&mut self, id: &str, block: &FencedBlock) {
        let Ok(tree) = document::read(&self.text.as_bytes()[block.content.clone()]) else {
            return;
        };
        if let Some(field) = node_settings::setting_in(tree.root()) {
            self.flaws.add(
                FlawCode::Duplicate,
                self.lines.source_span(block.whole.clone()),
                format!(
                    "`{id}` has `{field}` in a second block of settings, where it does not apply"
                ),
                "move the settings into the node's first YAML block",
            );
        }
    }

    fn read_settings(&mut self, block: &FencedBlock) -> NodeSettings {
        let Some((tree, before)) = self.parse_yaml(block.content.clone()) else {
            return NodeSettings::default();
        };
        let mut flaws = FlawCollector::default();
        let mut said = node_settings::read(tree.root(), &mut flaws);
        said.shift(before);
        self.add_shifted_flaws(flaws.into_sorted(), before);
        said
    }

    /// Reads a YAML block with one key per node, under `node_prompts` or at the top.
    fn read_mapped(&mut self, block: &FencedBlock, given: &mut Vec<NodeSection>) {
        if !matches!(block.language.as_str(), "yaml" | "yml" | "") {
            return;
        }
        let Some((tree, before)) = self.parse_yaml(block.content.clone()) else {
            return;
        };
        let root = tree.root();
        let map = root.get("node_prompts").unwrap_or(root);
        let mut flaws = FlawCollector::default();
        for (slot, (id, at)) in map.fields().enumerate() {
            let mut said = node_settings::read(at, &mut flaws);
            said.shift(before);
            let mut place = map.key_source_span(slot);
            place.line += before;
            place.end_line += before;
            given.push(NodeSection {
                id: id.to_string(),
                place,
                settings: said,
            });
        }
        self.add_shifted_flaws(flaws.into_sorted(), before);
    }

    /// Reads `NODE:` lines with `tool_hints:` and `policy:` indented below, as YAML or similar.
    fn read_policies(
        &mut self,
        whole: &Range<usize>,
        blocks: &[&FencedBlock],
        given: &mut Vec<NodeSection>,
    ) {
        let fenced: Vec<&FencedBlock> = blocks
            .iter()
            .filter(|it| matches!(it.language.as_str(), "yaml" | "yml"))
            .copied()
            .collect();
        for block in &fenced {
            self.read_mapped(block, given);
        }
        if !fenced.is_empty() {
            return;
        }
        let mut at = whole.start;
        let mut current: Option<(Range<usize>, String, usize)> = None;
        for line in self.text[whole.clone()].split_inclusive('\n') {
            let start = at;
            at += line.len();
            let Some(id) = policy_node_id(line) else {
                continue;
            };
            if let Some((spot, id, from)) = current.take() {
                given.push(self.read_policy(spot, id, from..start));
            }
            current = Some((start..start + id.len(), id.to_owned(), at));
        }
        if let Some((spot, id, from)) = current {
            given.push(self.read_policy(spot, id, from..whole.end));
        }
    }

    fn read_policy(&mut self, spot: Range<usize>, id: String, body: Range<usize>) -> NodeSection {
        let place = self.lines.source_span(spot);
        let mut said = NodeSettings::default();
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
        NodeSection {
            id,
            place,
            settings: said,
        }
    }

    /// Reports a second section for one node.
    pub(super) fn report_duplicate(&mut self, given: &NodeSection) {
        self.flaws.add(
            FlawCode::Duplicate,
            given.place.clone(),
            format!("`{}` has two sections of instructions", given.id),
            "keep one of the two sections",
        );
    }
}

/// The node that a heading names: its first word.
fn heading_node_id(section: &OutlineSection) -> String {
    let title = section.title.replace('`', "");
    let id = title.split([' ', ':', '\t']).next().unwrap_or_default();
    id.to_owned()
}

/// The headings that start instructions for a node, and whether that node is in the flowchart. A heading
/// inside the section of such a node is part of its instructions.
fn instruction_headings<'o>(
    section: &OutlineSection,
    outline: &'o SopOutline,
    drawn: &HashSet<&str>,
) -> Vec<(&'o OutlineSection, bool)> {
    let mut found: Vec<(&OutlineSection, bool)> = Vec::new();
    for below in section.subsections(outline) {
        let is_drawn = drawn.contains(heading_node_id(below).as_str());
        let above = found.last().filter(|(above, _)| above.level < below.level);
        if above.is_none_or(|(_, above_is_drawn)| !above_is_drawn && is_drawn) {
            found.push((below, is_drawn));
        }
    }
    found
}

/// The id, if the line starts an entry: an unindented word followed by a colon.
fn policy_node_id(line: &str) -> Option<&str> {
    let id = line.trim_end().strip_suffix(':')?;
    let id = id.strip_prefix("NODE ").unwrap_or(id);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!id.is_empty() && id.chars().all(plain) && !line.starts_with([' ', '\t'])).then_some(id)
}
