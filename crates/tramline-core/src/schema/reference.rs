//! Where the references of a schema lead, as far as that can be said without resolving addresses:
//! never to less than the validator finds.

use super::plan::SUBSCHEMAS_MAX;
use serde_json::Value as Json;
use std::collections::HashMap;

/// What a schema of the specification costs for each value inside the one it is applied to, in
/// applications: it is referred to and not held.
pub(super) const METASCHEMA_WEIGHT: u64 = 128;
/// Where the schemas of the specification are. All other addresses are refused by the validator.
const METASCHEMAS: &str = "json-schema.org/";
/// Objects and arrays in a schema, of whatever meaning: what is looked through for names.
const NODES_MAX: usize = SUBSCHEMAS_MAX * 10;

/// The names that references can lead to.
pub(super) struct Index<'a> {
    resources: Vec<Resource<'a>>,
    anchors: HashMap<&'a str, Vec<&'a Json>>,
    /// The innermost resource that an object is in.
    around: HashMap<*const Json, usize>,
}

struct Resource<'a> {
    address: &'a str,
    root: &'a Json,
    /// The resource that it is in; the whole schema is in itself.
    outer: usize,
}

/// What a reference may mean.
#[derive(Default)]
pub(super) struct Targets<'a> {
    pub(super) held: Vec<&'a Json>,
    /// Whether it may be a schema of the specification.
    pub(super) is_specified: bool,
}

impl<'a> Index<'a> {
    pub(super) fn of(schema: &'a Json) -> Result<Self, String> {
        let whole = Resource {
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
                return Err(format!("it holds more than {NODES_MAX} objects and arrays"));
            }
        }
        Ok(index)
    }

    /// Notes the names of an object, and gives the resource that its fields are in.
    fn named(&mut self, json: &'a Json, outer: usize) -> usize {
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let mut around = outer;
        for address in ["$id", "id"].into_iter().filter_map(text) {
            match address.strip_prefix('#') {
                Some(anchor) => self.anchors.entry(anchor).or_default().push(json),
                None => {
                    self.resources.push(Resource {
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

    /// What a reference in an object may mean.
    pub(super) fn targets(&self, reference: &str, within: &Json) -> Targets<'a> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut targets = Targets {
            held: Vec::new(),
            is_specified: address.contains(METASCHEMAS),
        };
        let resources = match address {
            "" => self.enclosing(within),
            address => self.addressed(address),
        };
        let fragment = decoded(fragment);
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let named = self.anchors.get(fragment.as_str());
            targets.held.extend(named.into_iter().flatten());
            return targets;
        }
        for resource in resources {
            let found = self.resources[resource].root.pointer(&fragment);
            targets.held.extend(found);
        }
        let mut seen = Vec::new();
        targets.held.retain(|json| {
            let new = !seen.contains(&std::ptr::from_ref(*json));
            seen.push(std::ptr::from_ref(*json));
            new
        });
        targets
    }

    /// The resources that an object is in, from the innermost to the whole schema.
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

    /// The resources that an address may mean: those whose last segment is the same, or all where
    /// that says nothing.
    fn addressed(&self, address: &str) -> Vec<usize> {
        let last = |address: &str| address.rsplit('/').next().map(str::to_owned);
        let wanted = last(address).filter(|last| !matches!(last.as_str(), "" | "." | ".."));
        let fits = |resource: &Resource<'_>| match &wanted {
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

/// A fragment without its percent signs.
fn decoded(fragment: &str) -> String {
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
