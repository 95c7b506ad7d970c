//! Any text as a plan of tool calls: it becomes tasks again, or reasons come back.

use tramline_core::formats::tool_plan::Plan;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Plan::read(text) {
        Ok(plan) => {
            let again = Plan::from_value(&plan.to_value());
            assert!(
                again.is_ok(),
                "a plan does not read its own value: {again:?}"
            );
            let _ = plan.tasks();
        }
        Err(reasons) => assert!(!reasons.is_empty()),
    }
}
