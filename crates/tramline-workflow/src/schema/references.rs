//! Resolves the references of a schema without resolving addresses. The result is never less than
//! what the validator finds.

use super::cost_graph::SUBSCHEMAS_MAX;
use serde_json::Value as Json;
use std::collections::HashMap;

/// Work units of a metaschema per value inside the checked one, in subschema applications; a
/// metaschema is referenced but not part of the schema.
pub(super) const METASCHEMA_WEIGHT: u64 = 128;
/// Where the metaschemas are. The validator rejects all other addresses.
const METASCHEMAS: &str = "json-schema.org/";
/// Objects and arrays in a schema that are searched for names; bounds the work.
const NODES_MAX: usize = SUBSCHEMAS_MAX * 10;

/// The names that references can refer to.
pub(super) struct ReferenceIndex<'a> {
    resources: Vec<SchemaResource<'a>>,
    anchors: HashMap<&'a str, Vec<&'a Json>>,
    /// The innermost resource that contains an object.
    around: HashMap<*const Json, usize>,
}

struct SchemaResource<'a> {
    address: &'a str,
    root: &'a Json,
    /// The enclosing resource; the root contains itself.
    outer: usize,
}

/// The possible targets of a reference.
#[derive(Default)]
pub(super) struct ReferenceTargets<'a> {
    pub(super) schemas: Vec<&'a Json>,
    /// Whether it may refer to a metaschema.
    pub(super) is_metaschema: bool,
}

impl<'a> ReferenceIndex<'a> {
    pub(super) fn of(schema: &'a Json) -> Result<Self, String> {
        let whole = SchemaResource {
            address: "",
            root: schema,
            outer: 0,
        };
        let mut index = Self {
            resources: vec![whole],
            anchors: HashMap::new(),
            around: HashMap::new(),
        };
        let mut open = vec![(schema, 0)];
        let mut seen = 0;
        while let Some((json, outer)) = open.pop() {
            match json {
                Json::Object(fields) => {
                    let around = index.named(json, outer);
                    open.extend(fields.values().map(|value| (value, around)));
                }
                Json::Array(items) => open.extend(items.iter().map(|item| (item, outer))),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => continue,
            }
            seen += 1;
            if seen > NODES_MAX {
                return Err(format!(
                    "it contains more than {NODES_MAX} objects and arrays"
                ));
            }
        }
        Ok(index)
    }

    /// Records the names of an object, and returns the resource that contains its fields.
    fn named(&mut self, json: &'a Json, outer: usize) -> usize {
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let mut around = outer;
        for address in ["$id", "id"].into_iter().filter_map(text) {
            match address.strip_prefix('#') {
                Some(anchor) => self.anchors.entry(anchor).or_default().push(json),
                None => {
                    self.resources.push(SchemaResource {
                        address,
                        root: json,
                        outer: around,
                    });
                    around = self.resources.len() - 1;
                }
            }
        }
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchors.entry(anchor).or_default().push(json);
        }
        self.around.insert(std::ptr::from_ref(json), around);
        around
    }

    /// The possible targets of a reference in an object.
    pub(super) fn targets(&self, reference: &str, within: &Json) -> ReferenceTargets<'a> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut targets = ReferenceTargets {
            schemas: Vec::new(),
            is_metaschema: address.contains(METASCHEMAS),
        };
        let resources = match address {
            "" => self.enclosing(within),
            address => self.addressed(address),
        };
        let fragment = percent_decode(fragment);
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let named = self.anchors.get(fragment.as_str());
            targets.schemas.extend(named.into_iter().flatten());
            return targets;
        }
        for resource in resources {
            let found = self.resources[resource].root.pointer(&fragment);
            targets.schemas.extend(found);
        }
        let mut seen = Vec::new();
        targets.schemas.retain(|json| {
            let new = !seen.contains(&std::ptr::from_ref(*json));
            seen.push(std::ptr::from_ref(*json));
            new
        });
        targets
    }

    /// The resources that contain an object, from the innermost to the root.
    fn enclosing(&self, within: &Json) -> Vec<usize> {
        let innermost = self.around.get(&std::ptr::from_ref(within));
        let mut at = innermost.copied().unwrap_or_default();
        let mut chain = vec![at];
        while self.resources[at].outer != at && at != 0 {
            at = self.resources[at].outer;
            chain.push(at);
        }
        chain
    }

    /// The resources that an address may refer to: those with the same last segment, or all if that
    /// is not conclusive.
    fn addressed(&self, address: &str) -> Vec<usize> {
        let last = |address: &str| address.rsplit('/').next().map(str::to_owned);
        let wanted = last(address).filter(|last| !matches!(last.as_str(), "" | "." | ".."));
        let fits = |resource: &SchemaResource<'_>| match &wanted {
            Some(wanted) if !wanted.contains(['%', '?']) && !resource.address.contains('%') => {
                let address = resource.address.split('#').next().unwrap_or_default();
                last(address).as_ref() == Some(wanted)
            }
            Some(_) | None => true,
        };
        let numbered = self.resources.iter().enumerate();
        let fitting = numbered.filter(|(_, resource)| fits(resource));
        fitting.map(|(at, _)| at).collect()
    }
}

/// Decodes the percent escapes of a fragment.
fn percent_decode(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'%');
        let code = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
