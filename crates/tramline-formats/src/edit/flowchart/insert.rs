//! Adds nodes and edges to a flowchart and changes the text of a node.

use super::semantics::{ChartSemantics, VertexSemantics, link_signature};
use super::{BytePatch, EditableChart, PatchCandidates, statement_range};
use tramline_syntax::mermaid::{
    self, ArrowHead, ByteSpan, ChartLabel, ChartLink, NodeShape, Stroke,
};

/// A plain arrow with an optional label.
fn arrow(label: Option<&str>) -> ChartLink {
    ChartLink {
        id: None,
        from: 0,
        to: 0,
        stroke: Stroke::Solid,
        length: 1,
        tail: ArrowHead::None,
        head: ArrowHead::Arrow,
        label: label.map(|text| ChartLabel {
            text: text.into(),
            markdown: false,
        }),
        span: ByteSpan::default(),
    }
}

impl EditableChart<'_> {
    pub(super) fn add_node(
        &self,
        after: Option<&str>,
        node: &serde_json::Map<String, serde_json::Value>,
    ) -> PatchCandidates {
        let said = |key: &str| node.get(key).and_then(serde_json::Value::as_str);
        let id = said("id").map(str::trim).filter(|id| !id.is_empty());
        let id = id.ok_or("give the node an `id`")?;
        if self.vertex_index(id).is_ok() {
            return Err(format!("a node `{id}` already exists"));
        }
        let text = said("text").map(str::trim).filter(|text| !text.is_empty());
        let text = text.unwrap_or(id);
        let (shape, open, close) = match said("kind") {
            Some("decision" | "choose") => (NodeShape::RHOMBUS, "{", "}"),
            Some("entry" | "exit" | "end") => (NodeShape::STADIUM, "([", "])"),
            Some(_) | None => (NodeShape::RECTANGLE, "[", "]"),
        };
        let drawn = format!("{id}{open}{}{close}", mermaid::write_label(text));
        let mut meant = ChartSemantics::of(&self.chart);
        meant
            .vertices
            .insert(id.to_owned(), VertexSemantics::new(shape, text));
        let Some(after) = after else {
            return Ok((vec![self.append_statement(&drawn)], meant));
        };
        let from = self.vertex_index(after)?;
        if let Some((patch, link)) = self.insert_into_edge(from, &drawn) {
            let (before, behind) = (self.vertex_id(link.from), self.vertex_id(link.to));
            let two = [
                link_signature(link, before, id),
                link_signature(&arrow(None), id, behind),
            ];
            let meant = meant.with_link_split(&link_signature(link, before, behind), two);
            return Ok((vec![vec![patch]], meant));
        }
        let meant = meant.with_link(link_signature(&arrow(None), after, id));
        Ok((
            self.line_candidates(from, &format!("{after} --> {drawn}")),
            meant,
        ))
    }

    /// Inserts a vertex into the only edge that leaves another vertex.
    fn insert_into_edge(&self, from: usize, drawn: &str) -> Option<(BytePatch, &ChartLink)> {
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

    pub(super) fn connect(&self, from: &str, to: &str, label: Option<&str>) -> PatchCandidates {
        let (start, end) = (self.vertex_index(from)?, self.vertex_index(to)?);
        let label = label.map(str::trim).filter(|label| !label.is_empty());
        let same = |link: &&ChartLink| {
            let caption = link.label.as_ref().map(mermaid::plain_text);
            link.from == start && link.to == end && caption.as_deref() == label
        };
        if self.chart.links.iter().any(|link| same(&link)) {
            return Err(format!("`{from}` already has an edge to `{to}`"));
        }
        let text = label.map_or_else(String::new, |text| {
            format!("|{}|", mermaid::write_label(text))
        });
        let meant =
            ChartSemantics::of(&self.chart).with_link(link_signature(&arrow(label), from, to));
        Ok((
            self.line_candidates(start, &format!("{from} -->{text} {to}")),
            meant,
        ))
    }

    /// Candidates for a new line: below the last statement that starts at the vertex, or at the end.
    fn line_candidates(&self, from: usize, statement: &str) -> Vec<Vec<BytePatch>> {
        let names = |only_leaves: bool| {
            let mut chains = self.chains.iter().rev();
            chains.find(|chain| {
                let count = chain.ends.len() - usize::from(only_leaves);
                let mut ends = chain.ends.iter().take(count).flatten();
                ends.any(|it| it.vertex == from)
            })
        };
        let below = names(true).or_else(|| names(false)).map(|chain| {
            let spot = statement_range(chain);
            let at = self.line_end(spot.end);
            let indent = self.indent(spot.start);
            vec![(at..at, format!("{}{indent}{statement}", self.line_break()))]
        });
        below
            .into_iter()
            .chain([self.append_statement(statement)])
            .collect()
    }

    fn append_statement(&self, statement: &str) -> Vec<BytePatch> {
        let inside = &self.text[self.part.clone()];
        let at = self.part.start + inside.trim_end().len();
        let last = self.chains.last();
        let indent = last.map_or("    ", |chain| self.indent(statement_range(chain).start));
        vec![(at..at, format!("{}{indent}{statement}", self.line_break()))]
    }

    /// Changes the text of a node.
    pub(super) fn set_text(
        &self,
        id: &str,
        path: &[serde_json::Value],
        value: &serde_json::Value,
    ) -> PatchCandidates {
        let vertex = self.vertex_index(id)?;
        let ([serde_json::Value::String(field)], Some(text)) = (path, value.as_str()) else {
            return Err("only the `text` of a flowchart node can be set".to_owned());
        };
        let text = text.trim();
        if field != "text" || text.is_empty() {
            return Err(
                "only the `text` of a flowchart node can be set, and it must not be empty"
                    .to_owned(),
            );
        }
        let drawn = &self.chart.vertices[vertex];
        let mut meant = ChartSemantics::of(&self.chart);
        let entry = meant.vertices.entry(id.to_owned()).or_default();
        entry.shape.get_or_insert(NodeShape::RECTANGLE);
        entry.caption = Some(ChartLabel {
            text: text.into(),
            markdown: false,
        });
        let shape = drawn.shape.unwrap_or(NodeShape::RECTANGLE);
        let (open, close) = mermaid::brackets(shape)
            .ok_or("its text is written as `@{…}`; change the text instead")?;
        let own: Vec<_> = self.mentions().filter(|it| it.vertex == vertex).collect();
        let bracketed = own.iter().rev().filter_map(|it| {
            let said = &self.text[it.bytes.clone()];
            let begin = id.len() + said[id.len()..].find(open)? + open.len();
            let end = begin + said[begin..].rfind(close)?;
            let stretch = it.bytes.start + begin..it.bytes.start + end;
            Some(vec![(stretch, mermaid::write_label(text))])
        });
        let bare = own.iter().map(|it| {
            let at = it.bytes.start + id.len();
            vec![(
                at..at,
                format!("{open}{}{close}", mermaid::write_label(text)),
            )]
        });
        Ok((bracketed.chain(bare.take(1)).collect(), meant))
    }
}
