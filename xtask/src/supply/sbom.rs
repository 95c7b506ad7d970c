//! The bill of materials: CycloneDX 1.5, byte-identical for the same lock file and platform.

use super::tree::{Crate, Tree};
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The dependency tree as a bill of materials. It has no timestamp and no serial number, so that it
/// can be compared.
pub(super) fn bill(tree: &Tree, target: &str) -> Result<Value> {
    let root = tree.crates.get(&tree.root).context("no root")?;
    let others = tree.crates.iter().filter(|(key, _)| **key != tree.root);
    let components: Vec<_> = others.map(|(_, one)| component(one, "library")).collect();
    let dependencies: Vec<_> = tree
        .crates
        .values()
        .map(|one| {
            let on = one.dependencies.iter();
            let on: Vec<_> = on
                .filter_map(|key| tree.crates.get(key).map(purl))
                .collect();
            json!({"ref": purl(one), "dependsOn": on})
        })
        .collect();
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": "xtask", "version": env!("CARGO_PKG_VERSION")}]},
            "component": component(root, "application"),
            "properties": [{"name": "cdx:rustc:sbom:target:triple", "value": target}],
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component(one: &Crate, kind: &str) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(one),
        "name": one.name,
        "version": one.version,
        // Build-time dependencies are not in the binary.
        "scope": if one.is_linked { "required" } else { "excluded" },
        "purl": purl(one),
    });
    if !one.license.is_empty() {
        component["licenses"] = json!([{"expression": expression(&one.license)}]);
    }
    if let Some(sum) = &one.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    if let Some(repository) = &one.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

/// A licence as an SPDX expression: older manifests write a slash for "or".
fn expression(license: &str) -> String {
    let parts: Vec<_> = license.split('/').map(str::trim).collect();
    parts.join(" OR ")
}

/// The package URL, percent-encoded.
fn purl(one: &Crate) -> String {
    let escaped = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => {
                    char::from(byte).to_string()
                }
                other => format!("%{other:02X}"),
            })
            .collect()
    };
    format!("pkg:cargo/{}@{}", escaped(&one.name), escaped(&one.version))
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;
    use std::collections::BTreeSet;

    fn is_purl(text: &str) -> bool {
        let Some((name, version)) = text
            .strip_prefix("pkg:cargo/")
            .and_then(|rest| rest.split_once('@'))
        else {
            return false;
        };
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_~%".contains(letter);
        !name.is_empty() && !version.is_empty() && name.chars().chain(version.chars()).all(plain)
    }

    /// Checks what the specification requires of a component, and that its reference is unique.
    fn check_component(component: &Value, refs: &mut BTreeSet<String>) {
        let text = |name: &str| component[name].as_str().unwrap_or_default();
        assert!(
            ["application", "library"].contains(&text("type")),
            "{component}"
        );
        assert!(
            !text("name").is_empty() && !text("version").is_empty(),
            "{component}"
        );
        assert!(
            ["required", "optional", "excluded"].contains(&text("scope")),
            "{component}"
        );
        assert!(is_purl(text("purl")), "{component}");
        assert!(
            refs.insert(text("bom-ref").to_owned()),
            "twice: {component}"
        );
        let license = component["licenses"][0]["expression"]
            .as_str()
            .unwrap_or_default();
        assert!(!license.is_empty() && !license.contains('/'), "{component}");
        for hash in component["hashes"].as_array().into_iter().flatten() {
            let content = hash["content"].as_str().unwrap_or_default();
            let is_hex =
                content.len() == 64 && content.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(hash["alg"] == "SHA-256" && is_hex, "{component}");
        }
    }

    #[test]
    fn the_bill_is_whole_and_always_the_same() {
        let target = "x86_64-unknown-linux-gnu";
        let made = || bill(&tree::read(target).unwrap(), target).unwrap();
        let bill = made();
        assert_eq!(bill.to_string(), made().to_string());
        assert_eq!(bill["bomFormat"], "CycloneDX");
        assert_eq!(bill["specVersion"], "1.5");
        assert!(bill["version"].as_u64().is_some_and(|version| version >= 1));
        let mut refs = BTreeSet::new();
        check_component(&bill["metadata"]["component"], &mut refs);
        let components = bill["components"].as_array().unwrap();
        components
            .iter()
            .for_each(|one| check_component(one, &mut refs));
        for dependency in bill["dependencies"].as_array().unwrap() {
            let on = dependency["dependsOn"].as_array().unwrap().iter();
            for name in on.chain([&dependency["ref"]]) {
                assert!(refs.contains(name.as_str().unwrap()), "{name} is missing");
            }
        }
        let has = |name: &str, scope: &str| {
            let mut components = components.iter();
            components.any(|one| one["name"] == name && one["scope"] == scope)
        };
        assert!(has("ring", "required") && has("libsqlite3-sys", "required"));
        assert!(has("cc", "excluded") && has("serde_derive", "excluded"));
        assert!(
            !has("tempfile", "required"),
            "test dependencies are not in the binary"
        );
    }

    #[test]
    fn addresses_are_escaped_and_licences_are_expressions() {
        let one = Crate {
            name: "toml".to_owned(),
            version: "1.1.8+spec-1.1.0".to_owned(),
            ..Crate::default()
        };
        assert_eq!(purl(&one), "pkg:cargo/toml@1.1.8%2Bspec-1.1.0");
        assert_eq!(expression("MIT / Apache-2.0"), "MIT OR Apache-2.0");
    }
}
