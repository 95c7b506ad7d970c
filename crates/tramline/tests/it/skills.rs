//! `tramline skills export`: a folder that agents read.

use crate::support::root;
use std::path::Path;
use std::process::Command;

fn export(dir: &Path, more: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tramline"))
        .args(["skills", "export"])
        .arg(dir)
        .args([
            "examples/graphs/switch.yaml",
            "examples/sop/onboarding/week.md",
            "examples/pflow/sort.pflow.md",
        ])
        .args(more)
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), said.into_owned())
}

#[test]
fn workflows_and_procedures_become_a_folder_of_skills() {
    let folder = tempfile::tempdir().unwrap();
    let (exit, said) = export(folder.path(), &[]);
    assert_eq!(exit, 0, "{said}");
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in &names {
        let text = std::fs::read_to_string(folder.path().join(name).join("SKILL.md")).unwrap();
        assert!(
            text.starts_with(&format!("---\nname: {name}\ndescription: \"")),
            "{text}"
        );
    }
    let shipping = std::fs::read_to_string(folder.path().join("choose-shipping/SKILL.md")).unwrap();
    assert!(
        shipping.contains("Call the tool `choose_shipping`."),
        "{shipping}"
    );
    assert!(
        shipping.contains("- `weight_kg` (number, required): The weight in kilograms."),
        "{shipping}"
    );
    // Nothing is replaced unless asked for.
    let (exit, said) = export(folder.path(), &[]);
    assert!(exit == 2 && said.contains("--force"), "{said}");
    assert_eq!(export(folder.path(), &["--force"]).0, 0);
}
