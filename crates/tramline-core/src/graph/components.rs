//! The parts of a graph in which every node can reach every other, and what leads out of them.
//!
//! A run uses them to know, without searching, that a token can never come any more: a part is
//! closed once it holds no token and every part before it is closed.

use super::Out;

/// Which part each node belongs to, and how the parts hang together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Components {
    /// The part of each node.
    pub(crate) of: Vec<u32>,
    /// For each part, how many ways enter it from others.
    pub(crate) entering: Vec<u32>,
    /// For each part, the ways that leave it, with their target nodes.
    pub(crate) leaving: Vec<Vec<(u32, u32)>>,
    /// For each part, whether it holds a cycle.
    pub(crate) cyclic: Vec<bool>,
}

impl Components {
    pub(crate) fn of(outs: &[Vec<Out>]) -> Self {
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
                .map(|out| out.way as usize + 1)
                .max()
                .unwrap_or(0)
        ];
        for (from, ways) in outs.iter().enumerate() {
            for out in ways {
                if std::mem::replace(&mut seen[out.way as usize], true) {
                    continue;
                }
                let (here, there) = (found.of[from] as usize, found.of[out.to.at()] as usize);
                if here == there {
                    found.cyclic[here] |= from == out.to.at();
                } else {
                    found.entering[there] += 1;
                    found.leaving[here].push((out.way, out.to.0));
                }
            }
        }
        found
    }
}

/// Tarjan's algorithm with a stack of its own, since a chain of 100,000 nodes must not use ours.
fn strong_components(outs: &[Vec<Out>]) -> Vec<u32> {
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
                let to = out.to.at();
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
