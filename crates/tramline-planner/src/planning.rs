//! Plans for intents, from the catalog and the plan history.

use crate::plan_history::PlanHistory;
use crate::planner::{CompletedTask, PlanInput, SearchResults, TaskPlan, make_plan};
use std::sync::Arc;
use tramline_catalog::Catalog;
use tramline_catalog::registry::ToolList;
use tramline_catalog::search::Embedder;
use tramline_engine::Engine;
use tramline_engine::Fault;
use tramline_engine::ports::{DocumentTable, StoreFault, Tool};
use tramline_expr::Value;
use tramline_workflow::ids::ToolName;

/// Most tools that are searched without the shared index, because a temporary one is quick enough.
const SMALL_SET_MAX: usize = 64;

/// Plans for intents. Clones share everything.
#[derive(Clone)]
pub struct Planner {
    pub(crate) engine: Engine,
    pub(crate) catalog: Catalog,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    history: Arc<PlanHistory>,
}

impl Planner {
    /// A planner over an engine and what it can call. With `learn`, plans that succeed are recorded and used for new
    /// plans.
    pub fn new(
        engine: Engine,
        catalog: Catalog,
        embedder: Option<Arc<dyn Embedder>>,
        learn: bool,
    ) -> Self {
        let history = Arc::new(PlanHistory::new(engine.documents(PlanHistory::KIND), learn));
        engine.listen(Arc::clone(&history) as _);
        Self {
            engine,
            catalog,
            embedder,
            history,
        }
    }

    /// The history of plans that succeeded.
    pub fn history(&self) -> &PlanHistory {
        &self.history
    }

    /// The documents of a kind.
    pub(crate) fn documents(&self, kind: &'static str) -> DocumentTable {
        self.engine.documents(kind)
    }

    /// A plan for an intent with the usable tools. Finished tasks are built upon, and ids in use
    /// are not reused.
    pub async fn plan(
        &self,
        wish: &str,
        context: Option<&Value>,
        may: &(dyn Fn(&ToolName) -> bool + Sync),
        taken: &(dyn Fn(&str) -> bool + Sync),
        done: &[CompletedTask],
    ) -> Result<TaskPlan, Fault> {
        let can = |tool: &ToolName| self.engine.unusable(tool).is_none();
        let (list, found) = self.search(wish, may, &can).await?;
        let past = self.history.precedents().await?;
        let usable = |tool: &Arc<Tool>| may(&tool.name) && can(&tool.name);
        let mut plan = make_plan(&PlanInput {
            request: wish,
            context,
            search: &found,
            precedents: &past,
            lookup: &|name| list.get(name).filter(|tool| usable(tool)).cloned(),
            all_tools: &|| {
                list.tools
                    .iter()
                    .filter(|tool| usable(tool))
                    .cloned()
                    .collect()
            },
            is_id_taken: taken,
            completed: done,
        });
        let engine = &self.engine;
        let asks = plan.tools.iter().filter(|tool| engine.needs_approval(tool));
        let asks: Vec<String> = asks
            .map(|tool| format!("a person is asked before {tool} is called"))
            .collect();
        plan.objections.extend(asks);
        Ok(plan)
    }

    /// The search results for a request among the tools that may and can be used, and the list of everything.
    async fn search(
        &self,
        wish: &str,
        may: &(dyn Fn(&ToolName) -> bool + Sync),
        can: &(dyn Fn(&ToolName) -> bool + Sync),
    ) -> Result<(Arc<ToolList>, SearchResults), StoreFault> {
        let registry = self.catalog.registry();
        let list = registry.list_indexed().await?;
        let allowed = || list.tools.iter().filter(|tool| may(&tool.name));
        // If only a few of many tools are allowed, they would hardly be among the best hits overall.
        if allowed().count() < list.tools.len() {
            let usable = allowed()
                .filter(|tool| can(&tool.name))
                .take(SMALL_SET_MAX + 1);
            let usable: Vec<_> = usable.cloned().collect();
            if usable.len() <= SMALL_SET_MAX {
                let found = SearchResults::among(wish, &usable);
                return Ok((list, found));
            }
        }
        let usable = |tool: &Arc<Tool>| may(&tool.name) && can(&tool.name);
        let lookup = |name: &str| list.get(name).filter(|tool| usable(tool)).cloned();
        let embeddings = registry.embeddings(&SearchResults::texts(wish)).await;
        let found =
            registry.read_index(|index| SearchResults::new(wish, &embeddings, index, lookup));
        Ok((list, found))
    }
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner").finish_non_exhaustive()
    }
}
