//! Deletes nodes and edges of a flowchart by rewriting the statements that mention them.

use super::semantics::{ChartSemantics, link_signature};
use super::{BytePatch, EditableChart, PatchCandidates, statement_range};
use crate::sop_markdown;
use std::collections::{HashMap, HashSet};
use tramline_syntax::mermaid::{ChartLink, LinkStatement};

/// An edge as written in its statement.
#[derive(Clone)]
struct StatementEdge<'t> {
    from: usize,
    to: usize,
    arrow: &'t str,
}

impl<'t> EditableChart<'t> {
    pub(super) fn remove_node(&self, id: &str) -> PatchCandidates {
        let gone = self.vertex_index(id)?;
        if self.chart.vertices.len() == 1 {
            return Err("the last node cannot be removed".to_owned());
        }
        let leads = self.chart.links.iter().filter(|link| link.from == gone);
        let leads: HashSet<_> = leads.map(|link| link.to).filter(|to| *to != gone).collect();
        // Redirect incoming edges to the successor, if there is exactly one.
        let heir = leads.iter().next().copied().filter(|_| leads.len() == 1);
        let kept = |from: usize, to: usize| match (from == gone, to == gone) {
            (false, false) => Some((from, to)),
            (false, true) => heir.filter(|heir| *heir != from).map(|heir| (from, heir)),
            (true, _) => None,
        };
        let mut patches = self.rewrite_statements(kept, Some(gone))?;
        let told = sop_markdown::instruction_headings(self.text).into_iter();
        let told = told.filter(|(named, ..)| named == id);
        patches.extend(told.map(|(_, _, whole)| (whole, String::new())));
        let mut meant = self.semantics_keeping(kept);
        meant.vertices.remove(id);
        Ok((vec![patches], meant))
    }

    pub(super) fn disconnect(&self, from: &str, to: &str) -> PatchCandidates {
        let ends = (self.vertex_index(from)?, self.vertex_index(to)?);
        let is_it = |link: &ChartLink| (link.from, link.to) == ends;
        if !self.chart.links.iter().any(is_it) {
            return Err(format!("there is no edge from `{from}` to `{to}`"));
        }
        let kept = |from: usize, to: usize| (ends != (from, to)).then_some((from, to));
        Ok((
            vec![self.rewrite_statements(kept, None)?],
            self.semantics_keeping(kept),
        ))
    }

    /// The chart with only the links that are kept.
    fn semantics_keeping(
        &self,
        kept: impl Fn(usize, usize) -> Option<(usize, usize)>,
    ) -> ChartSemantics {
        let links = self.chart.links.iter().filter_map(|link| {
            let (from, to) = kept(link.from, link.to)?;
            Some(link_signature(
                link,
                self.vertex_id(from),
                self.vertex_id(to),
            ))
        });
        ChartSemantics::of(&self.chart).with_links(links.collect())
    }

    /// Patches that rewrite the affected statements.
    fn rewrite_statements(
        &self,
        kept: impl Fn(usize, usize) -> Option<(usize, usize)>,
        gone: Option<usize>,
    ) -> Result<Vec<BytePatch>, String> {
        let mut patches = Vec::new();
        let mut dropped = HashSet::new();
        for (at, chain) in self.chains.iter().enumerate() {
            let ways = self.statement_edges(chain);
            let names = |it: &&tramline_syntax::mermaid::VertexMention| Some(it.vertex) == gone;
            let touched = chain.ends.iter().flatten().any(|it| names(&it))
                || ways
                    .iter()
                    .any(|way| kept(way.from, way.to) != Some((way.from, way.to)));
            if !touched {
                continue;
            }
            if self.text[statement_range(chain)].contains("%%") {
                return Err("the statement contains a comment: change it in the text".into());
            }
            let ways = ways.into_iter().filter_map(|way| {
                let (from, to) = kept(way.from, way.to)?;
                Some(StatementEdge { from, to, ..way })
            });
            let elsewhere = |vertex: usize| {
                let others = self.chains.iter().enumerate();
                others
                    .filter(|(other, _)| *other != at && !dropped.contains(other))
                    .any(|(_, other)| other.ends.iter().flatten().any(|it| it.vertex == vertex))
            };
            let lines = self.statements(chain, ways.collect(), gone, elsewhere);
            if lines.is_empty() {
                dropped.insert(at);
            }
            patches.push(self.replace_statement(chain, &lines));
        }
        Ok(patches)
    }

    fn statement_edges(&self, chain: &LinkStatement) -> Vec<StatementEdge<'t>> {
        let mut ways = Vec::new();
        for (ends, arrow) in chain.ends.windows(2).zip(&chain.arrows) {
            let arrow = self.text[arrow.clone()].trim();
            for from in &ends[0] {
                ways.extend(ends[1].iter().map(|to| StatementEdge {
                    from: from.vertex,
                    to: to.vertex,
                    arrow,
                }));
            }
        }
        ways
    }

    /// Writes edges as statements; each vertex carries its definition once.
    fn statements(
        &self,
        chain: &LinkStatement,
        ways: Vec<StatementEdge<'t>>,
        gone: Option<usize>,
        elsewhere: impl Fn(usize) -> bool,
    ) -> Vec<String> {
        let mut said: HashMap<usize, &str> = HashMap::new();
        for it in chain.ends.iter().flatten() {
            let text = &self.text[it.bytes.clone()];
            let longest = said.entry(it.vertex).or_insert(text);
            if text.len() > longest.len() {
                *longest = text;
            }
        }
        let mut lines: Vec<String> = Vec::new();
        let mut named = HashSet::new();
        let mut last = None;
        for way in ways {
            let mut name = |vertex: usize| match named.insert(vertex) {
                true => said.get(&vertex).copied().unwrap_or(self.vertex_id(vertex)),
                false => self.vertex_id(vertex),
            };
            match lines.last_mut().filter(|_| last == Some(way.from)) {
                Some(line) => line.push_str(&format!(" {} {}", way.arrow, name(way.to))),
                None => {
                    let from = name(way.from);
                    lines.push(format!("{from} {} {}", way.arrow, name(way.to)));
                }
            }
            last = Some(way.to);
        }
        for it in chain.ends.iter().flatten() {
            let says = said.get(&it.vertex).copied().unwrap_or_default();
            let needed = says != self.vertex_id(it.vertex) || !elsewhere(it.vertex);
            if Some(it.vertex) != gone && needed && named.insert(it.vertex) {
                lines.push(says.to_owned());
            }
        }
        lines
    }

    /// Replaces a statement by others; if there are none, its line is deleted too.
    fn replace_statement(&self, chain: &LinkStatement, lines: &[String]) -> BytePatch {
        let spot = statement_range(chain);
        let indent = self.indent(spot.start);
        if !lines.is_empty() {
            let apart = format!("{}{indent}", self.line_break());
            return (spot, lines.join(&apart));
        }
        let (start, end) = (self.line_start(spot.start), self.line_end(spot.end));
        let around = (&self.text[start..spot.start], &self.text[spot.end..end]);
        let alone =
            around.0.trim().is_empty() && around.1.trim_matches([' ', '\t', ';']).is_empty();
        match alone {
            true => {
                let after = self.text[end..].find('\n').map_or(end, |at| end + at + 1);
                (start..after, String::new())
            }
            false => (spot, String::new()),
        }
    }
}
