package displacement_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fakeAPI holds pods, budgets and events as values, executes actions, and checks the invariants of each write.
type fakeAPI struct {
	pods    map[string]*fakePod
	budgets map[string]*model.Budget
	allowed map[string]int32           // of each budget without entries
	granted map[string]map[string]bool // by budget: the entries that took a disruption
	version int

	recorded  map[string]bool // by UID: the event exists, or was rejected
	cleared   map[string]bool // by name: a process found that no actor displaces the pod
	skipped   map[string]bool // budgets whose debit was rejected
	changed   bool            // another actor has changed the first pod
	leftovers bool            // entries and conditions may be left, which expire
	violated  []string
}

// fakePod is a pod with the actor that has set its condition.
type fakePod struct {
	model.Pod
	marker string
}

// firstVersion is the resource version of the first pod of a new API.
const firstVersion = "1"

// newFakeAPI returns an API with two pods, which two budgets cover.
func newFakeAPI(allowed ...int32) *fakeAPI {
	a := &fakeAPI{pods: map[string]*fakePod{}, budgets: map[string]*model.Budget{}, allowed: map[string]int32{}, granted: map[string]map[string]bool{}, recorded: map[string]bool{}, cleared: map[string]bool{}, skipped: map[string]bool{}}
	for _, name := range []string{"a", "b"} {
		a.addPod(name, "uid-"+name)
	}
	for i, n := range allowed {
		b := &model.Budget{Namespace: "ns", Name: "budget" + strconv.Itoa(i), Selector: &model.Selector{}, DisruptionsAllowed: n, CurrentHealthy: 10, DesiredHealthy: 10 - n, ExpectedPods: 10}
		a.budgets[b.Name], a.allowed[b.Name], a.granted[b.Name] = b, n, map[string]bool{}
		a.touchBudget(b)
	}
	return a
}

func (a *fakeAPI) addPod(name, uid string) {
	a.pods[name] = &fakePod{Pod: model.Pod{Namespace: "ns", Name: name, UID: uid, NodeName: "n1", Created: start.Add(-time.Hour), Ready: true, Phase: model.Running, Spec: &model.PodSpec{}}}
	a.touch(a.pods[name])
}

func (a *fakeAPI) touch(p *fakePod) {
	a.version++
	p.ResourceVersion = strconv.Itoa(a.version)
}

func (a *fakeAPI) touchBudget(b *model.Budget) {
	a.version++
	b.ResourceVersion = strconv.Itoa(a.version)
}

func (a *fakeAPI) violate(format string, args ...any) {
	a.violated = append(a.violated, fmt.Sprintf(format, args...))
}

// process is an actor that runs a machine. Its condition is recognized by its name.
type process struct {
	name string
	api  *fakeAPI
	spec displacement.Spec
}

// execute executes an action.
func (c *process) execute(action displacement.Action) displacement.Result {
	a := c.api
	switch x := action.(type) {
	case displacement.ReadVictim:
		return c.read(x.Pod)
	case displacement.ReadBudget:
		if b := a.budgets[x.Name]; b != nil {
			return displacement.Result{Budgets: []*model.Budget{copyOf(b)}}
		}
		return displacement.Result{Status: displacement.Absent}
	case displacement.ReadBudgets:
		r := displacement.Result{}
		for _, name := range []string{"budget0", "budget1"} {
			if b := a.budgets[name]; b != nil {
				r.Budgets = append(r.Budgets, copyOf(b))
			}
		}
		return r
	case displacement.ReadMembers:
		r := displacement.Result{}
		for i := range 10 {
			r.Pods = append(r.Pods, &model.Pod{Namespace: "ns", Name: "member" + strconv.Itoa(i), Ready: true})
		}
		return r
	case displacement.WriteDebit:
		return a.debit(x)
	case displacement.WriteRefund:
		return a.refund(x)
	}
	return c.executeOnPod(action)
}

func (c *process) executeOnPod(action displacement.Action) displacement.Result {
	a := c.api
	switch x := action.(type) {
	case displacement.SkipDebit:
		a.skipped[x.Budget.Name] = true
	case displacement.SetCondition:
		return c.setCondition(x)
	case displacement.WriteRecord:
		a.recorded[x.Record.Victim.UID] = true
	case displacement.ClearCondition:
		p := a.pods[x.Pod.Name]
		if p != nil && !p.Deleting && (p.marker == c.name || x.Adopted && p.DisruptionReason == c.spec.Record.Cause.Reason()) {
			p.marker, p.DisruptionReason = "", ""
			a.touch(p)
		}
		if p != nil {
			a.cleared[p.Name] = !p.Deleting && p.DisruptionReason == ""
		}
		return c.read(x.Pod)
	case displacement.Delete:
		return c.delete(x)
	case displacement.Wait:
	default:
		panic(fmt.Sprintf("%T", action))
	}
	return displacement.Result{}
}

// victim returns the pod that the process displaces. The UID of an eviction's pod is not known before.
func (c *process) victim(i int) *model.Pod { return c.spec.Victims[i].Pod }

func (c *process) read(v *model.Pod) displacement.Result {
	p := c.api.pods[v.Name]
	if p == nil {
		return displacement.Result{Status: displacement.Absent}
	}
	pod := p.Pod
	return displacement.Result{Pod: &pod, Own: p.marker == c.name}
}

func (c *process) setCondition(x displacement.SetCondition) displacement.Result {
	a, v := c.api, x.Record.Victim
	p := a.pods[v.Name]
	switch {
	case p == nil:
		return displacement.Result{Status: displacement.Absent}
	case p.UID != v.UID || x.Version != "" && x.Version != p.ResourceVersion:
		return displacement.Result{Status: displacement.Conflict}
	}
	c.checkDebited(p, "marked")
	if x.Mark && (p.DisruptionReason == "" || c.spec.Eviction == nil) {
		a.leftovers = a.leftovers || p.marker == "other"
		p.marker, p.DisruptionReason = c.name, c.spec.Record.Cause.Reason()
		a.touch(p)
	}
	return c.read(v)
}

// checkDebited checks that each budget that protects a pod has an entry for it.
func (c *process) checkDebited(p *fakePod, action string) {
	for name, b := range c.api.budgets {
		if !slices.Contains(b.Disrupted, p.Name) && !c.api.skipped[name] && !p.Deleting {
			c.api.violate("pod %s is %s without an entry in %s", p.Name, action, name)
		}
	}
}

func (c *process) delete(x displacement.Delete) displacement.Result {
	v := x.Pod
	p := c.api.pods[v.Name]
	switch {
	case p == nil:
		return displacement.Result{Status: displacement.Absent}
	case v.UID != p.UID || x.Version != "" && x.Version != p.ResourceVersion:
		return displacement.Result{Status: displacement.Conflict}
	case x.DryRun:
		return displacement.Result{}
	}
	if !c.api.recorded[p.UID] {
		c.api.violate("pod %s is deleted without a record", p.Name)
	}
	for i := range c.spec.Victims {
		if q := c.api.pods[c.victim(i).Name]; q != nil && q.UID == c.victim(i).UID && q.DisruptionReason == "" {
			c.api.violate("pod %s is deleted before %s has its condition", p.Name, q.Name)
		}
	}
	if e := c.spec.Eviction; e != nil && e.ResourceVersion != "" && c.api.changed {
		c.api.violate("pod %s is deleted although it was changed", p.Name)
	}
	c.checkDebited(p, "deleted")
	p.Deleting = true
	c.api.touch(p)
	return displacement.Result{}
}

func copyOf(b *model.Budget) *model.Budget {
	c := *b
	return &c
}

// debit executes a debit that is based on the stored budget.
func (a *fakeAPI) debit(x displacement.WriteDebit) displacement.Result {
	b := a.budgets[x.Budget.Name]
	switch {
	case b == nil:
		return displacement.Result{Status: displacement.Absent}
	case b.ResourceVersion != x.Budget.ResourceVersion:
		return displacement.Result{Status: displacement.Conflict}
	}
	for _, name := range x.Debit.Granted {
		a.addEntry(b, name, true)
	}
	for _, name := range x.Debit.Overruled {
		a.addEntry(b, name, false)
	}
	return displacement.Result{}
}

// addEntry adds an entry, which takes a disruption if it is granted.
func (a *fakeAPI) addEntry(b *model.Budget, name string, granted bool) {
	i, found := slices.BinarySearch(b.Disrupted, name)
	if found {
		a.violate("pod %s is debited twice in %s", name, b.Name)
	}
	b.Disrupted, b.DisruptedAt = slices.Insert(slices.Clone(b.Disrupted), i, name), slices.Insert(slices.Clone(b.DisruptedAt), i, start)
	if granted {
		b.DisruptionsAllowed--
		a.granted[b.Name][name] = true
	}
	if b.DisruptionsAllowed < 0 {
		a.violate("budget %s is exceeded", b.Name)
	}
	a.touchBudget(b)
}

// removeEntry removes an entry, with the disruption that it took.
func (a *fakeAPI) removeEntry(b *model.Budget, name string) {
	i, found := slices.BinarySearch(b.Disrupted, name)
	if !found {
		return
	}
	b.Disrupted, b.DisruptedAt = slices.Delete(slices.Clone(b.Disrupted), i, i+1), slices.Delete(slices.Clone(b.DisruptedAt), i, i+1)
	if a.granted[b.Name][name] {
		b.DisruptionsAllowed++
		delete(a.granted[b.Name], name)
	}
	a.touchBudget(b)
}

func (a *fakeAPI) refund(x displacement.WriteRefund) displacement.Result {
	b := a.budgets[x.Budget.Name]
	switch {
	case b == nil:
		return displacement.Result{Status: displacement.Absent}
	case b.ResourceVersion != x.Budget.ResourceVersion:
		return displacement.Result{Status: displacement.Conflict}
	}
	for _, name := range slices.Concat(x.Debit.Granted, x.Debit.Overruled) {
		if !a.cleared[name] {
			a.violate("the debit of pod %s in %s is refunded before its condition is cleared", name, b.Name)
		}
		a.removeEntry(b, name)
	}
	return displacement.Result{Budgets: []*model.Budget{copyOf(b)}}
}

// checkEnd checks that a displacement that has ended leaves no debit and no condition of a pod that is not deleted.
func (a *fakeAPI) checkEnd(c *process, o *displacement.Outcome) {
	for i := range c.spec.Victims {
		p := a.pods[c.victim(i).Name]
		if p == nil || p.Deleting || p.UID != "uid-"+p.Name {
			continue
		}
		if o.Kind == displacement.Displaced {
			a.violate("pod %s is not deleted after a displacement", p.Name)
		}
		if p.marker != "" && p.marker != "other" && !a.leftovers {
			a.violate("pod %s is not deleted and has the condition", p.Name)
		}
		for _, b := range a.budgets {
			if slices.Contains(b.Disrupted, p.Name) && p.DisruptionReason == "" && !a.leftovers {
				a.violate("pod %s is not displaced and is debited in %s", p.Name, b.Name)
			}
		}
	}
	a.checkLedger()
}

// checkLedger checks that each budget allows what it allowed at first, less the entries that took a disruption.
func (a *fakeAPI) checkLedger() {
	for _, b := range a.budgets {
		if n := a.allowed[b.Name] - int32(len(a.granted[b.Name])); b.DisruptionsAllowed != n {
			a.violate("budget %s allows %d disruptions, want %d with the entries %v", b.Name, b.DisruptionsAllowed, n, b.Disrupted)
		}
	}
}

// expire removes the entries and conditions of pods that are not deleted, as the disruption controller does after
// budget.EntryAge.
func (a *fakeAPI) expire() {
	for _, b := range a.budgets {
		for _, name := range slices.Clone(b.Disrupted) {
			if p := a.pods[name]; p == nil || !p.Deleting {
				a.removeEntry(b, name)
			}
		}
	}
	for _, p := range a.pods {
		if !p.Deleting {
			p.marker, p.DisruptionReason = "", ""
		}
	}
}
