package budget_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

func formatVerdict(v budget.Verdict) string {
	var debits []string
	for _, b := range v.Debits {
		debits = append(debits, b.Name)
	}
	s := [...]string{"granted", "refused", "forbidden", "multiple budgets"}[v.Result]
	if len(debits) > 0 {
		s += " for " + strings.Join(debits, " ")
	}
	if v.RequireUnchanged {
		s += " if unchanged"
	}
	if v.Reason != "" {
		s += ": " + v.Reason
	}
	if v.RetryAfter > 0 {
		s += fmt.Sprint(" in ", v.RetryAfter)
	}
	return s
}

// checkEviction returns the formatted verdict on the eviction of the first of three pods. changePod and changeBudget
// may be nil.
func checkEviction(e budget.Evictions, changePod func(*model.Pod), changeBudget func(*model.Budget)) string {
	pods := newPods(3, rs)
	if changePod != nil {
		changePod(pods[0])
	}
	b := &model.Budget{Namespace: "default", Name: "b", Selector: selectWeb, MinAvailable: amount(2), CurrentHealthy: 3, DesiredHealthy: 2, DisruptionsAllowed: 1, ExpectedPods: 3}
	if changeBudget != nil {
		changeBudget(b)
	}
	return formatVerdict(e.Check(pods[0], []*model.Budget{b}, pods, noon))
}

func exhausted(b *model.Budget) { b.DisruptionsAllowed = 0 }

func unready(p *model.Pod) { p.Ready = false }

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		pod    func(*model.Pod)
		budget func(*model.Budget)
		want   string
	}{
		"allowed":                   {nil, nil, "granted for b"},
		"not allowed":               {nil, exhausted, "refused: The disruption budget b does not allow evicting pods currently"},
		"too few are healthy":       {nil, func(b *model.Budget) { exhausted(b); b.CurrentHealthy = 1 }, "refused: The disruption budget b needs 2 healthy pods and has 1 currently"},
		"the status has SyncFailed": {nil, func(b *model.Budget) { exhausted(b); b.SyncError = "why" }, "refused: The disruption budget b does not allow evicting pods currently because it failed sync: why"},
		"an outdated status":        {nil, func(b *model.Budget) { b.Generation = 1 }, "refused: The disruption budget b is still being processed by the server. in 10s"},
		"a negative number":         {nil, func(b *model.Budget) { b.DisruptionsAllowed = -1 }, "forbidden: pdb disruptions allowed is negative"},
		"too many entries": {nil, func(b *model.Budget) { b.Disrupted = make([]string, 2001) },
			"forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller"},
		"a pending pod":  {func(p *model.Pod) { p.Phase = model.Pending }, exhausted, "granted if unchanged"},
		"a finished pod": {func(p *model.Pod) { p.Phase = model.Failed }, exhausted, "granted"},
		"a deleting pod": {func(p *model.Pod) { p.Deleting = true }, exhausted, "granted"},
		"uncovered pod":  {func(p *model.Pod) { p.Labels = nil }, exhausted, "granted"},
		"unready":        {unready, exhausted, "granted if unchanged"},
		"unready, budget not met": {unready, func(b *model.Budget) { exhausted(b); b.CurrentHealthy = 1 },
			"refused: The disruption budget b needs 2 healthy pods and has 1 currently"},
		"unready, 0 desired": {unready, func(b *model.Budget) { exhausted(b); b.CurrentHealthy, b.DesiredHealthy = 0, 0 },
			"refused: The disruption budget b needs 0 healthy pods and has 0 currently"},
		"unready, always allowed": {unready, func(b *model.Budget) {
			exhausted(b)
			b.CurrentHealthy, b.AlwaysAllowUnhealthy, b.Generation = 1, true, 1
		}, "granted if unchanged"},
		"debited already": {nil, func(b *model.Budget) {
			exhausted(b)
			b.Disrupted, b.DisruptedAt = []string{"p0"}, []time.Time{noon.Add(-time.Minute)}
		}, "granted"},
		"entry of another request":                     {nil, withEntry, "refused: Another eviction of the pod is in progress; the disruption budget b has an entry for it in 1s"},
		"debited, with the DisruptionTarget condition": {func(p *model.Pod) { p.DisruptionReason = "EvictionByEvictionAPI" }, withEntry, "granted"},
		"debited long ago":                             {nil, func(b *model.Budget) { b.Disrupted, b.DisruptedAt = []string{"p0"}, []time.Time{noon.Add(-time.Hour)} }, "granted for b"},
		"never allowed, without ForbidImpossible": {nil, func(b *model.Budget) {
			exhausted(b)
			b.MinAvailable, b.MaxUnavailable = model.IntOrPercent{}, amount(0)
		},
			"refused: The disruption budget b does not allow evicting pods currently"},
	} {
		if got := checkEviction(budget.Evictions{}, c.pod, c.budget); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// withEntry adds an entry for the pod, one second old.
func withEntry(b *model.Budget) {
	b.Disrupted, b.DisruptedAt = []string{"p0"}, []time.Time{noon.Add(-time.Second)}
}

// TestOwnEntryIsAccepted checks that a retried request does not wait for its own entry.
func TestOwnEntryIsAccepted(t *testing.T) {
	if got := checkEviction(budget.Evictions{OwnEntries: []string{"b"}}, nil, withEntry); got != "granted" {
		t.Errorf("with its own entry: %s, want granted", got)
	}
	if got := checkEviction(budget.Evictions{OwnEntries: []string{"a"}}, nil, withEntry); !strings.HasPrefix(got, "refused") {
		t.Errorf("with an entry in another budget: %s, want refused", got)
	}
}

func TestCheckRecounts(t *testing.T) {
	recount := budget.Evictions{Recount: true}
	for name, c := range map[string]struct {
		pod    func(*model.Pod)
		budget func(*model.Budget)
		want   string
	}{
		"status and count agree": {nil, nil, "granted for b"},
		"the status is behind": {nil, func(b *model.Budget) { b.CurrentHealthy, b.DesiredHealthy = 4, 3 },
			"refused: The disruption budget b needs 3 healthy pods and has 3 currently"},
		"another eviction was granted": {nil, func(b *model.Budget) { b.Disrupted, b.DisruptedAt = []string{"p1"}, []time.Time{noon} },
			"refused: The disruption budget b needs 2 healthy pods and has 2 currently"},
		"the eviction of a pod with the same name was granted": {nil, func(b *model.Budget) {
			b.Disrupted, b.DisruptedAt = []string{"p1"}, []time.Time{noon.Add(-2 * time.Hour)}
		}, "granted for b"},
		"unready, budget met":                     {unready, nil, "granted if unchanged"},
		"unready, budget not met":                 {unready, func(b *model.Budget) { b.DesiredHealthy = 3 }, "refused: The disruption budget b needs 3 healthy pods and has 2 currently"},
		"the status allows more than the pods do": {nil, func(b *model.Budget) { b.DesiredHealthy, b.DisruptionsAllowed = 0, 0 }, "refused: The disruption budget b does not allow evicting pods currently"},
	} {
		if got := checkEviction(recount, c.pod, c.budget); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestCheckForbidsImpossibleEviction(t *testing.T) {
	forbid := budget.Evictions{ForbidImpossible: true}
	maxUnavailableZero := func(b *model.Budget) {
		exhausted(b)
		b.MinAvailable, b.MaxUnavailable = model.IntOrPercent{}, amount(0)
	}
	for name, c := range map[string]struct {
		pod    func(*model.Pod)
		budget func(*model.Budget)
		want   string
	}{
		"maxUnavailable 0":            {nil, maxUnavailableZero, "forbidden: The disruption budget b can never allow it: spec.maxUnavailable is 0: raise it, or delete the budget"},
		"minAvailable 100%":           {nil, func(b *model.Budget) { exhausted(b); b.MinAvailable = percent(100) }, "forbidden: The disruption budget b can never allow it: spec.minAvailable is 100%: lower it, or delete the budget"},
		"no controller":               {func(p *model.Pod) { p.Owner = model.Owner{} }, func(b *model.Budget) { maxUnavailableZero(b); b.MaxUnavailable, b.ExpectedPods = amount(1), 0 }, "forbidden: The disruption budget b can never allow it: its pods have no controller with a replica count: set spec.minAvailable to a number instead"},
		"one pod more than desired":   {nil, func(b *model.Budget) { maxUnavailableZero(b); b.DisruptionsAllowed = 1 }, "granted for b"},
		"a budget owned by an object": {nil, func(b *model.Budget) { maxUnavailableZero(b); b.Owned = true }, "refused: The disruption budget b does not allow evicting pods currently"},
		"temporarily refused":         {nil, exhausted, "refused: The disruption budget b does not allow evicting pods currently"},
	} {
		if got := checkEviction(forbid, c.pod, c.budget); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestMultipleBudgetsMustAgree(t *testing.T) {
	pods := newPods(3, rs)
	z := &model.Budget{Namespace: "default", Name: "z", Selector: selectWeb, DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2}
	a := &model.Budget{Namespace: "default", Name: "a", Selector: selectAll, DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2}
	budgets := []*model.Budget{z, a}
	if got := formatVerdict(budget.Evictions{}.Check(pods[0], budgets, nil, noon)); got != "granted for a z" {
		t.Errorf("got %q, want %q", got, "granted for a z")
	}
	if got := formatVerdict(budget.Evictions{RefuseMultiple: true}.Check(pods[0], budgets, nil, noon)); !strings.HasPrefix(got, "multiple budgets: This pod has more than one") {
		t.Errorf("got %q, want a refusal because of multiple budgets", got)
	}
	pods[1].Phase = model.Pending
	if got := formatVerdict(budget.Evictions{RefuseMultiple: true}.Check(pods[1], budgets, nil, noon)); got != "granted if unchanged" {
		t.Errorf("got %q, want %q", got, "granted if unchanged")
	}
	z.DisruptionsAllowed = 0
	if got := formatVerdict(budget.Evictions{}.Check(pods[0], budgets, nil, noon)); got != "refused: The disruption budget z does not allow evicting pods currently" {
		t.Errorf("got %q, want %q", got, "refused: The disruption budget z does not allow evicting pods currently")
	}
}
