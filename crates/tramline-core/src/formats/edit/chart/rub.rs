//! Nodes and ways that are rubbed out: the statements that name them are written anew without.

use super::meaning::{Meaning, linked};
use super::{Patch, Sketch, Tried, span};
use crate::formats::mermaid::{Chain, Link};
use crate::formats::sop_markdown;
use std::collections::{HashMap, HashSet};

/// A way as its statement draws it.
#[derive(Clone)]
struct Way<'t> {
    from: usize,
    to: usize,
    arrow: &'t str,
}

impl<'t> Sketch<'t> {
    pub(super) fn remove(&self, id: &str) -> Tried {
        let gone = self.place(id)?;
        if self.chart.vertices.len() == 1 {
            return Err("the last node cannot be taken away".to_owned());
        }
        let leads = self.chart.links.iter().filter(|link| link.from == gone);
        let leads: HashSet<_> = leads.map(|link| link.to).filter(|to| *to != gone).collect();
        // What led to it leads to what came after it, where that is one.
        let heir = leads.iter().next().copied().filter(|_| leads.len() == 1);
        let kept = |from: usize, to: usize| match (from == gone, to == gone) {
            (false, false) => Some((from, to)),
            (false, true) => heir.filter(|heir| *heir != from).map(|heir| (from, heir)),
            (true, _) => None,
        };
        let mut patches = self.rewritten(kept, Some(gone))?;
        let told = sop_markdown::instructions(self.text).into_iter();
        let told = told.filter(|(named, ..)| named == id);
        patches.extend(told.map(|(_, _, whole)| (whole, String::new())));
        let mut meant = self.kept(kept);
        meant.vertices.remove(id);
        Ok((vec![patches], meant))
    }

    pub(super) fn disconnect(&self, from: &str, to: &str) -> Tried {
        let ends = (self.place(from)?, self.place(to)?);
        let is_it = |link: &Link| (link.from, link.to) == ends;
        if !self.chart.links.iter().any(is_it) {
            return Err(format!("no arrow leads from `{from}` to `{to}`"));
        }
        let kept = |from: usize, to: usize| (ends != (from, to)).then_some((from, to));
        Ok((vec![self.rewritten(kept, None)?], self.kept(kept)))
    }

    /// The drawing with the links that are kept.
    fn kept(&self, kept: impl Fn(usize, usize) -> Option<(usize, usize)>) -> Meaning {
        let links = self.chart.links.iter().filter_map(|link| {
            let (from, to) = kept(link.from, link.to)?;
            Some(linked(link, self.id(from), self.id(to)))
        });
        Meaning::of(&self.chart).with(links.collect())
    }

    /// The statements in which something changes, written anew.
    fn rewritten(
        &self,
        kept: impl Fn(usize, usize) -> Option<(usize, usize)>,
        gone: Option<usize>,
    ) -> Result<Vec<Patch>, String> {
        let mut patches = Vec::new();
        let mut dropped = HashSet::new();
        for (at, chain) in self.chains.iter().enumerate() {
            let ways = self.ways(chain);
            let names = |it: &&crate::formats::mermaid::Mention| Some(it.vertex) == gone;
            let touched = chain.ends.iter().flatten().any(|it| names(&it))
                || ways
                    .iter()
                    .any(|way| kept(way.from, way.to) != Some((way.from, way.to)));
            if !touched {
                continue;
            }
            if self.text[span(chain)].contains("%%") {
                return Err("a comment stands inside the statement: change it in the text".into());
            }
            let ways = ways.into_iter().filter_map(|way| {
                let (from, to) = kept(way.from, way.to)?;
                Some(Way { from, to, ..way })
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
            patches.push(self.replaced(chain, &lines));
        }
        Ok(patches)
    }

    fn ways(&self, chain: &Chain) -> Vec<Way<'t>> {
        let mut ways = Vec::new();
        for (ends, arrow) in chain.ends.windows(2).zip(&chain.arrows) {
            let arrow = self.text[arrow.clone()].trim();
            for from in &ends[0] {
                ways.extend(ends[1].iter().map(|to| Way {
                    from: from.vertex,
                    to: to.vertex,
                    arrow,
                }));
            }
        }
        ways
    }

    /// Ways as statements, each vertex with what was said of it, once.
    fn statements(
        &self,
        chain: &Chain,
        ways: Vec<Way<'t>>,
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
                true => said.get(&vertex).copied().unwrap_or(self.id(vertex)),
                false => self.id(vertex),
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
            let needed = says != self.id(it.vertex) || !elsewhere(it.vertex);
            if Some(it.vertex) != gone && needed && named.insert(it.vertex) {
                lines.push(says.to_owned());
            }
        }
        lines
    }

    /// A statement replaced by others; by none, its line goes too.
    fn replaced(&self, chain: &Chain, lines: &[String]) -> Patch {
        let spot = span(chain);
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
