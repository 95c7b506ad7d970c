//! Nodes and ways that are added to a flowchart, and the text of a node.

use super::meaning::{Drawn, Meaning, linked};
use super::{Patch, Sketch, Tried, span};
use crate::formats::mermaid::{self, Caption, Head, Link, Shape, Spot, Stroke};

/// A plain arrow with this text.
fn arrow(label: Option<&str>) -> Link {
    Link {
        id: None,
        from: 0,
        to: 0,
        stroke: Stroke::Solid,
        length: 1,
        tail: Head::None,
        head: Head::Arrow,
        caption: label.map(|text| Caption {
            text: text.into(),
            markdown: false,
        }),
        spot: Spot::default(),
    }
}

impl Sketch<'_> {
    pub(super) fn add(
        &self,
        after: Option<&str>,
        node: &serde_json::Map<String, serde_json::Value>,
    ) -> Tried {
        let said = |key: &str| node.get(key).and_then(serde_json::Value::as_str);
        let id = said("id").map(str::trim).filter(|id| !id.is_empty());
        let id = id.ok_or("give the node an `id`")?;
        if self.place(id).is_ok() {
            return Err(format!("there is a node `{id}` already"));
        }
        let text = said("text").map(str::trim).filter(|text| !text.is_empty());
        let text = text.unwrap_or(id);
        let (shape, open, close) = match said("kind") {
            Some("decision" | "choose") => (Shape::RHOMBUS, "{", "}"),
            Some("entry" | "exit" | "end") => (Shape::STADIUM, "([", "])"),
            Some(_) | None => (Shape::RECTANGLE, "[", "]"),
        };
        let drawn = format!("{id}{open}{}{close}", mermaid::written(text));
        let mut meant = Meaning::of(&self.chart);
        meant
            .vertices
            .insert(id.to_owned(), Drawn::new(shape, text));
        let Some(after) = after else {
            return Ok((vec![self.at_the_end(&drawn)], meant));
        };
        let from = self.place(after)?;
        if let Some((patch, link)) = self.between(from, &drawn) {
            let (before, behind) = (self.id(link.from), self.id(link.to));
            let two = [linked(link, before, id), linked(&arrow(None), id, behind)];
            let meant = meant.instead(&linked(link, before, behind), two);
            return Ok((vec![vec![patch]], meant));
        }
        let meant = meant.and(linked(&arrow(None), after, id));
        Ok((self.lines(from, &format!("{after} --> {drawn}")), meant))
    }

    /// Puts a vertex onto the only way that leaves another, behind its arrow.
    fn between(&self, from: usize, drawn: &str) -> Option<(Patch, &Link)> {
        let mut links = self.chart.links.iter().filter(|link| link.from == from);
        let (Some(link), None) = (links.next(), links.next()) else {
            return None;
        };
        for chain in &self.chains {
            for (at, ends) in chain.ends.windows(2).enumerate() {
                if let [[one], [other]] = [ends[0].as_slice(), ends[1].as_slice()]
                    && one.vertex == from
                    && chain.arrows.get(at).is_some()
                {
                    let at = other.bytes.start;
                    return Some(((at..at, format!("{drawn} --> ")), link));
                }
            }
        }
        None
    }

    pub(super) fn connect(&self, from: &str, to: &str, label: Option<&str>) -> Tried {
        let (start, end) = (self.place(from)?, self.place(to)?);
        let label = label.map(str::trim).filter(|label| !label.is_empty());
        let same = |link: &&Link| {
            let caption = link.caption.as_ref().map(mermaid::plain);
            link.from == start && link.to == end && caption.as_deref() == label
        };
        if self.chart.links.iter().any(|link| same(&link)) {
            return Err(format!("`{from}` leads to `{to}` already"));
        }
        let text = label.map_or_else(String::new, |text| format!("|{}|", mermaid::written(text)));
        let meant = Meaning::of(&self.chart).and(linked(&arrow(label), from, to));
        Ok((self.lines(start, &format!("{from} -->{text} {to}")), meant))
    }

    /// A new line below the last that a vertex leaves, or at the end.
    fn lines(&self, from: usize, statement: &str) -> Vec<Vec<Patch>> {
        let names = |only_leaves: bool| {
            let mut chains = self.chains.iter().rev();
            chains.find(|chain| {
                let count = chain.ends.len() - usize::from(only_leaves);
                let mut ends = chain.ends.iter().take(count).flatten();
                ends.any(|it| it.vertex == from)
            })
        };
        let below = names(true).or_else(|| names(false)).map(|chain| {
            let spot = span(chain);
            let at = self.line_end(spot.end);
            let indent = self.indent(spot.start);
            vec![(at..at, format!("{}{indent}{statement}", self.line_break()))]
        });
        below
            .into_iter()
            .chain([self.at_the_end(statement)])
            .collect()
    }

    fn at_the_end(&self, statement: &str) -> Vec<Patch> {
        let inside = &self.text[self.part.clone()];
        let at = self.part.start + inside.trim_end().len();
        let last = self.chains.last();
        let indent = last.map_or("    ", |chain| self.indent(span(chain).start));
        vec![(at..at, format!("{}{indent}{statement}", self.line_break()))]
    }

    /// Another text in a node.
    pub(super) fn set(
        &self,
        id: &str,
        path: &[serde_json::Value],
        value: &serde_json::Value,
    ) -> Tried {
        let vertex = self.place(id)?;
        let ([serde_json::Value::String(field)], Some(text)) = (path, value.as_str()) else {
            return Err("of a node in a flowchart its text is set".to_owned());
        };
        let text = text.trim();
        if field != "text" || text.is_empty() {
            return Err("of a node in a flowchart its `text` is set, and it has one".to_owned());
        }
        let drawn = &self.chart.vertices[vertex];
        let mut meant = Meaning::of(&self.chart);
        let entry = meant.vertices.entry(id.to_owned()).or_default();
        entry.shape.get_or_insert(Shape::RECTANGLE);
        entry.caption = Some(Caption {
            text: text.into(),
            markdown: false,
        });
        let shape = drawn.shape.unwrap_or(Shape::RECTANGLE);
        let (open, close) = mermaid::brackets(shape).ok_or("its text stands in `@{…}`")?;
        let own: Vec<_> = self.mentions().filter(|it| it.vertex == vertex).collect();
        let bracketed = own.iter().rev().filter_map(|it| {
            let said = &self.text[it.bytes.clone()];
            let begin = id.len() + said[id.len()..].find(open)? + open.len();
            let end = begin + said[begin..].rfind(close)?;
            let stretch = it.bytes.start + begin..it.bytes.start + end;
            Some(vec![(stretch, mermaid::written(text))])
        });
        let bare = own.iter().map(|it| {
            let at = it.bytes.start + id.len();
            vec![(at..at, format!("{open}{}{close}", mermaid::written(text)))]
        });
        Ok((bracketed.chain(bare.take(1)).collect(), meant))
    }
}
