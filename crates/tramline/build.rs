//! Embeds the pages of all error codes in the binary.

use std::fmt::Write as _;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A link to docs/errors, which becomes a folder in the published package.
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("errors");
    println!("cargo::rerun-if-changed={}", pages.display());
    let entries = std::fs::read_dir(&pages)
        .map_err(|error| format!("no error pages in {}: {error}", pages.display()))?;
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    found.sort();
    let mut table = String::from("const PAGES: &[(&str, &str)] = &[\n");
    for path in found {
        let code = path.file_stem().unwrap_or_default().to_string_lossy();
        if code.starts_with('T') {
            let path = path.canonicalize()?;
            writeln!(table, "    ({code:?}, include_str!({path:?})),")?;
        }
    }
    table.push_str("];\n");
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("pages.rs"), table)?;
    Ok(())
}
