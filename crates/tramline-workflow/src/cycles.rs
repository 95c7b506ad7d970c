//! Finds cycles among numbered nodes without recursion.

/// Calls `found` for every edge that closes a cycle, with the edge and the nodes of the cycle in
/// order. Without those edges the graph is acyclic. The search starts from the nodes of `first`.
pub fn closing_edges(
    outs: &[Vec<(usize, usize)>],
    first: impl Iterator<Item = usize>,
    mut found: impl FnMut(usize, &[usize]),
) {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitMark {
        New,
        /// On the current path, at this position.
        Open(usize),
        Done,
    }
    let mut states = vec![VisitMark::New; outs.len()];
    let mut path: Vec<usize> = Vec::new();
    let mut ways: Vec<usize> = Vec::new();
    for start in first.chain(0..outs.len()) {
        if states[start] != VisitMark::New {
            continue;
        }
        states[start] = VisitMark::Open(0);
        path.push(start);
        ways.push(0);
        while let (Some(&node), Some(way)) = (path.last(), ways.last_mut()) {
            let Some(&(to, edge)) = outs[node].get(*way) else {
                states[node] = VisitMark::Done;
                path.pop();
                ways.pop();
                continue;
            };
            *way += 1;
            match states[to] {
                VisitMark::New => {
                    states[to] = VisitMark::Open(path.len());
                    path.push(to);
                    ways.push(0);
                }
                VisitMark::Open(at) => found(edge, &path[at..]),
                VisitMark::Done => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::closing_edges;

    #[test]
    fn each_cycle_is_told_once_with_its_nodes() {
        let outs = vec![
            vec![(1, 0)],
            vec![(2, 1), (1, 2)],
            vec![(0, 3), (3, 4)],
            vec![],
        ];
        let mut told = Vec::new();
        closing_edges(&outs, [0].into_iter(), |edge, path| {
            told.push((edge, path.to_vec()));
        });
        assert_eq!(told, [(3, vec![0, 1, 2]), (2, vec![1])]);
    }
}
