//! The strongly connected components of a graph, and the connections between them.
//!
//! With them a run knows without searching that a token can no longer arrive: a component is closed
//! once it holds no token and every component before it is closed.

use super::OutEdge;

/// The component of each node, and how the components are connected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Components {
    /// The component of each node.
    pub(crate) of: Vec<u32>,
    /// For each component, the number of connections that enter it from others.
    pub(crate) entering: Vec<u32>,
    /// For each component, the connections that leave it, with their target nodes.
    pub(crate) leaving: Vec<Vec<(u32, u32)>>,
    /// For each component, whether it contains a cycle.
    pub(crate) cyclic: Vec<bool>,
}

impl Components {
    pub(crate) fn of(outs: &[Vec<OutEdge>]) -> Self {
        let of = strong_components(outs);
        let parts = of.iter().map(|&part| part as usize + 1).max().unwrap_or(0);
        let mut size = vec![0u32; parts];
        for &part in &of {
            size[part as usize] += 1;
        }
        let mut found = Self {
            entering: vec![0; parts],
            leaving: vec![Vec::new(); parts],
            cyclic: size.iter().map(|&nodes| nodes > 1).collect(),
            of,
        };
        let mut seen = vec![
            false;
            outs.iter()
                .flatten()
                .map(|out| out.connection as usize + 1)
                .max()
                .unwrap_or(0)
        ];
        for (from, ways) in outs.iter().enumerate() {
            for out in ways {
                if std::mem::replace(&mut seen[out.connection as usize], true) {
                    continue;
                }
                let (here, there) = (found.of[from] as usize, found.of[out.to.index()] as usize);
                if here == there {
                    found.cyclic[here] |= from == out.to.index();
                } else {
                    found.entering[there] += 1;
                    found.leaving[here].push((out.connection, out.to.0));
                }
            }
        }
        found
    }
}

/// Tarjan's algorithm with an explicit stack, because a chain of 100,000 nodes would overflow the
/// call stack.
fn strong_components(outs: &[Vec<OutEdge>]) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let count = outs.len();
    let (mut order, mut low) = (vec![UNSEEN; count], vec![0u32; count]);
    let (mut part, mut parts, mut clock) = (vec![UNSEEN; count], 0u32, 0u32);
    let mut path: Vec<usize> = Vec::new();
    let mut work: Vec<(usize, usize)> = Vec::new();
    for root in 0..count {
        if order[root] != UNSEEN {
            continue;
        }
        work.push((root, 0));
        while let Some(&mut (node, ref mut way)) = work.last_mut() {
            if *way == 0 {
                order[node] = clock;
                low[node] = clock;
                clock += 1;
                path.push(node);
            }
            if let Some(out) = outs[node].get(*way) {
                *way += 1;
                let to = out.to.index();
                if order[to] == UNSEEN {
                    work.push((to, 0));
                } else if part[to] == UNSEEN {
                    low[node] = low[node].min(order[to]);
                }
                continue;
            }
            work.pop();
            if let Some(&(above, _)) = work.last() {
                low[above] = low[above].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = path.pop() {
                    part[member] = parts;
                    if member == node {
                        break;
                    }
                }
                parts += 1;
            }
        }
    }
    part
}
