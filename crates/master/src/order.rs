//! The order in which outputs with direct feed-through can be evaluated.

/// A group of outputs that are evaluated together: one output, or the members of an algebraic loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// Members, ascending.
    pub(crate) members: Vec<usize>,
    /// Whether the members depend on each other.
    pub(crate) is_loop: bool,
}

/// Orders `0..count` so that everything comes after what it depends on; cycles become loops.
///
/// `dependencies(node)` lists the nodes that `node` needs first. The order depends on the numbers
/// only: equal graphs, equal order (Tarjan 1972, iterative, so that long chains do not overflow).
pub(crate) fn dependency_order(count: usize, dependencies: &[Vec<usize>]) -> Vec<Group> {
    let mut search = Search {
        dependencies,
        index: vec![None; count],
        low: vec![0; count],
        on_stack: vec![false; count],
        stack: Vec::new(),
        next: 0,
        groups: Vec::new(),
    };
    for root in 0..count {
        if search.index[root].is_none() {
            search.visit(root);
        }
    }
    search.groups
}

struct Search<'a> {
    dependencies: &'a [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    groups: Vec<Group>,
}

impl Search<'_> {
    fn enter(&mut self, node: usize) {
        self.index[node] = Some(self.next);
        self.low[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn visit(&mut self, root: usize) {
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, position)) = path.last_mut() {
            let node = *node;
            if let Some(&next) = self.dependencies[node].get(*position) {
                *position += 1;
                match self.index[next] {
                    None => {
                        self.enter(next);
                        path.push((next, 0));
                    }
                    Some(index) if self.on_stack[next] => {
                        self.low[node] = self.low[node].min(index);
                    }
                    Some(_) => {}
                }
            } else {
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    self.low[parent] = self.low[parent].min(self.low[node]);
                }
                if Some(self.low[node]) == self.index[node] {
                    self.close(node);
                }
            }
        }
    }

    fn close(&mut self, root: usize) {
        let start = self
            .stack
            .iter()
            .rposition(|node| *node == root)
            .unwrap_or(0);
        let mut members = self.stack.split_off(start);
        for &member in &members {
            self.on_stack[member] = false;
        }
        members.sort_unstable();
        let is_loop = members.len() > 1 || self.dependencies[root].contains(&root);
        self.groups.push(Group { members, is_loop });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_comes_first_and_cycles_are_loops() {
        // 0 needs 1, 1 needs 2; 3 and 4 need each other and 0; 5 needs itself.
        let dependencies = [vec![1], vec![2], vec![], vec![4, 0], vec![3], vec![5]];
        let order = dependency_order(6, &dependencies);
        let members: Vec<_> = order
            .iter()
            .map(|group| (group.members.clone(), group.is_loop))
            .collect();
        assert_eq!(
            members,
            [
                (vec![2], false),
                (vec![1], false),
                (vec![0], false),
                (vec![3, 4], true),
                (vec![5], true)
            ]
        );
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let count = 200_000;
        let dependencies: Vec<Vec<usize>> = (0..count)
            .map(|node| {
                if node + 1 < count {
                    vec![node + 1]
                } else {
                    vec![]
                }
            })
            .collect();
        assert_eq!(dependency_order(count, &dependencies).len(), count);
    }
}
