package nodepressure

import "testing"

// compareAsDocumented compares two pods by the kubelet's documented eviction order: the result is
// negative if p is evicted before q.
func compareAsDocumented(m *Machine, s Signal, p, q *Pod) int {
	compare := func(a, b int64) int {
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	}
	trueFirst := func(b bool) int64 {
		if b {
			return 0
		}
		return 1
	}
	amounts := func(p *Pod) (used, subtracted, request int64) {
		if p.Stats == nil {
			return 0, 0, 0
		}
		switch s.Resource() {
		case Memory:
			return p.Stats.Memory, p.Spec.Requests.Memory, p.Spec.Requests.Memory
		case PIDs:
			return p.Stats.Processes, 0, 0
		case Inodes:
			if m.config.Options.RankInodes {
				return m.localUsage(s, p, usedInodes), 0, 0
			}
			return m.localUsage(s, p, usedInodes), p.Spec.Requests.Ephemeral, 0
		}
		return m.localUsage(s, p, usedBytes), p.Spec.Requests.Ephemeral, p.Spec.Requests.Ephemeral
	}
	pUsed, pSubtracted, pRequest := amounts(p)
	qUsed, qSubtracted, qRequest := amounts(q)
	unknown := compare(trueFirst(p.Stats == nil), trueFirst(q.Stats == nil))
	priority := compare(int64(p.Spec.Priority), int64(q.Spec.Priority))
	rules := []int{unknown, compare(trueFirst(pUsed > pRequest), trueFirst(qUsed > qRequest)), priority, compare(qUsed-qSubtracted, pUsed-pSubtracted)}
	if s == PIDAvailable {
		rules = []int{priority, unknown, compare(qUsed, pUsed)}
	}
	for _, r := range rules {
		if r != 0 {
			return r
		}
	}
	return 0
}

// TestRankMatchesDocumentedOrder compares the order with a selection sort by compareAsDocumented.
func TestRankMatchesDocumentedOrder(t *testing.T) {
	for seed := range 300 {
		r := randomSource(seed)
		m := New(Config{Layout: Layout{DedicatedImageFs: r.n(2) == 0, DedicatedContainerFs: r.n(2) == 0}, Options: Options{RankInodes: r.n(2) == 0}})
		var pods []Pod
		for i := range 1 + r.n(9) {
			pods = append(pods, r.pod(i))
		}
		s := Signal(r.n(int(NumSignals)))
		got := m.rank(s, pods)
		remaining := make([]*Pod, len(pods))
		for i := range pods {
			remaining[i] = &pods[i]
		}
		for i := range got {
			best := 0
			for j := range remaining {
				if compareAsDocumented(m, s, remaining[j], remaining[best]) < 0 {
					best = j
				}
			}
			if got[i].pod != remaining[best] {
				t.Fatalf("seed %d, %s: position %d is %s, want %s", seed, s, i, got[i].pod.Name, remaining[best].Name)
			}
			remaining = append(remaining[:best], remaining[best+1:]...)
		}
	}
}

func TestInodePressureRanksByInodes(t *testing.T) {
	manyInodes, largeRequest := memoryPod("many-inodes", 0), memoryPod("large-request", 0)
	manyInodes.Spec.Requests.Ephemeral = 1 << 30
	manyInodes.Stats.Containers[0].RootFs = FsStats{Known: true, Inodes: 1_000_000}
	largeRequest.Stats.Containers[0].RootFs = FsStats{Known: true, Inodes: 10}
	for enabled, want := range map[bool]string{true: "many-inodes", false: "large-request"} {
		m := New(Config{Options: Options{RankInodes: enabled}})
		if got := m.rank(NodeFsInodesFree, []Pod{largeRequest, manyInodes})[0].pod.Name; got != want {
			t.Errorf("RankInodes %v: %s is first, want %s", enabled, got, want)
		}
	}
}
