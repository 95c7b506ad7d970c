//! `cargo xtask docs`: builds the documentation as a site with mdBook, for reading offline.
//!
//! The pages stay where they are, so that their links work in the repository too. The site gets copies, in which links
//! out of `docs/` lead to the copies of those pages, or to the repository.

use crate::{paths, setup, shell};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

mod links;
mod summary;

pub(crate) use summary::problems;

/// Where the site is built.
const SITE: &str = "docs";

/// Builds the site, or with `--reference` writes the pages that are generated from the program.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => build(),
        [one] if one == "--reference" => write_reference(),
        [other, ..] => bail!("unknown argument `{other}`; only `--reference` is accepted"),
    }
}

/// Runs the tests that compare the reference, which write it instead.
fn write_reference() -> Result<()> {
    let words = [
        "test",
        "--quiet",
        "-p",
        "tramline",
        "--test",
        "it",
        "reference::",
    ];
    let mut command = shell::cargo(&words);
    command.env("UPDATE_REFERENCE", "1");
    shell::run(&mut command)
}

fn build() -> Result<()> {
    let root = paths::root();
    let problems = problems(&root)?;
    if !problems.is_empty() {
        bail!("docs/SUMMARY.md: {}", problems.join("; "));
    }
    let book = paths::target().join(SITE);
    let source = book.join("src");
    if source.exists() {
        fs::remove_dir_all(&source).with_context(|| format!("clearing {}", source.display()))?;
    }
    let pages = copy_pages(&root, &source)?;
    write(&source.join("SUMMARY.md"), &summary::expanded(&root)?)?;
    write(&book.join("book.toml"), &book_toml(&root)?)?;
    let mdbook = setup::mdbook()?;
    shell::run(Command::new(mdbook).arg("build").arg(&book))?;
    println!(
        "{} pages: {}",
        pages,
        book.join("html/index.html").display()
    );
    Ok(())
}

/// Copies every page and picture of the site; returns the number of pages.
fn copy_pages(root: &Path, source: &Path) -> Result<usize> {
    let repository = repository(root)?;
    let mut count = 0;
    for page in links::pages(root)? {
        let text = links::rewrite(root, &page, &repository)?;
        write(&source.join(links::place(&page)), &text)?;
        count += 1;
    }
    let pictures = ["svg", "png"];
    for kind in pictures {
        for dir in ["docs", "crates/tramline/templates"] {
            for path in paths::files(&root.join(dir), kind)? {
                let target = source.join(links::place(&paths::relative(root, &path)));
                make_parent(&target)?;
                fs::copy(&path, &target).with_context(|| format!("copying {}", path.display()))?;
            }
        }
    }
    Ok(count)
}

/// The public address of the repository, from the manifest.
fn repository(root: &Path) -> Result<String> {
    let manifest: toml::Table = paths::read(&root.join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|it| it.get("package"));
    let address = package.and_then(|it| it.get("repository")?.as_str());
    Ok(address.context("Cargo.toml has no repository")?.to_owned())
}

fn book_toml(root: &Path) -> Result<String> {
    let repository = repository(root)?;
    Ok(format!(
        "[book]\ntitle = \"Tramline\"\nlanguage = \"en\"\nsrc = \"src\"\n\n[build]\nbuild-dir = \"html\"\n\
         create-missing = false\n\n[output.html]\ngit-repository-url = \"{repository}\"\n\
         preferred-dark-theme = \"navy\"\n\n[output.html.fold]\nenable = true\n\n[output.html.search]\nenable = true\n\
         limit-results = 20\nuse-boolean-and = true\nboost-title = 2\n"
    ))
}

fn make_parent(path: &Path) -> Result<()> {
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    make_parent(path)?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
