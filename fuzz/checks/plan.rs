//! Arbitrary text as a plan of tool calls: parsed into tasks, or rejected with reasons.

use tramline_formats::tool_plan::ToolPlan;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match ToolPlan::read(text) {
        Ok(plan) => {
            let again = ToolPlan::from_value(&plan.to_value());
            assert!(
                again.is_ok(),
                "a plan does not parse its own value: {again:?}"
            );
            let _ = plan.tasks();
        }
        Err(reasons) => assert!(!reasons.is_empty()),
    }
}
