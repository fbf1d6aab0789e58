package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

var (
	testTime = time.Unix(5000, 0)
	web      = &model.Pod{Namespace: "ns", Name: "web", UID: "u1", Spec: &model.PodSpec{SchedulerName: "default-scheduler"}}
	pods     = schema.GroupResource{Resource: "pods"}
)

func podOnNode(uid types.UID, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: uid}, Spec: corev1.PodSpec{NodeName: node}}
}

// newTestExecutor returns an Executor whose Bind requests fail with err.
func newTestExecutor(err error, objects ...runtime.Object) (*Executor, *fake.Clientset) {
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
		return action.GetSubresource() == "binding", nil, err
	})
	now := func() time.Time { return testTime }
	return New(Options{Client: client, Timeout: time.Second, Now: now,
		ConvertPod:   func(p *corev1.Pod) *model.Pod { return &model.Pod{UID: string(p.UID), NodeName: p.Spec.NodeName} },
		PodScheduled: func(*model.Pod) *corev1.PodCondition { return nil },
		Events:       NewEvents(client, "test", clocktesting.NewFakeClock(testTime))}), client
}

func TestBindOutcomes(t *testing.T) {
	conflict := apierrors.NewConflict(pods, "web", errors.New("already bound"))
	for name, tc := range map[string]struct {
		err  error
		pod  *corev1.Pod
		want scheduling.Result
	}{
		"granted":                         {nil, podOnNode("u1", ""), scheduling.Done},
		"already on that node":            {conflict, podOnNode("u1", "n1"), scheduling.Done},
		"on another node":                 {conflict, podOnNode("u1", "n2"), scheduling.Conflict},
		"deleted, reported as a conflict": {conflict, nil, scheduling.Conflict},
		"not found":                       {apierrors.NewNotFound(pods, "web"), nil, scheduling.Refused},
		"forbidden":                       {apierrors.NewForbidden(pods, "web", nil), podOnNode("u1", ""), scheduling.Refused},
		"server timed out":                {apierrors.NewTimeoutError("slow", 1), podOnNode("u1", ""), scheduling.Unknown},
		"server failed":                   {apierrors.NewInternalError(errors.New("etcd")), podOnNode("u1", ""), scheduling.Unknown},
		"connection lost":                 {errors.New("EOF"), podOnNode("u1", ""), scheduling.Unknown},
		"timeout":                         {context.DeadlineExceeded, podOnNode("u1", ""), scheduling.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			if tc.pod != nil {
				objects = append(objects, tc.pod)
			}
			x, _ := newTestExecutor(tc.err, objects...)
			got := x.bind(t.Context(), scheduling.Bind{Pod: web, Node: "n1"})
			if got.Result != tc.want {
				t.Errorf("outcome %v (%s), want %v", got.Result, got.Reason, tc.want)
			}
			if events := len(x.o.Events.queue); (events == 1) != (tc.want == scheduling.Done) {
				t.Errorf("got %d events after %v, want one if the outcome is Done, otherwise none", events, tc.want)
			}
		})
	}
}

func TestBindNamesPodAndNode(t *testing.T) {
	x, client := newTestExecutor(nil, podOnNode("u1", ""))
	x.bind(t.Context(), scheduling.Bind{Pod: web, Node: "n1"})
	b := client.Actions()[0].(ktesting.CreateAction).GetObject().(*corev1.Binding)
	if b.Name != "web" || b.Namespace != "ns" || b.UID != "u1" || b.Target.Kind != "Node" || b.Target.Name != "n1" {
		t.Errorf("binding %+v, want ns/web with UID u1 to node n1", b)
	}
	if ev := <-x.o.Events.queue; ev.Note != "Successfully assigned ns/web to n1" || ev.Reason != "Scheduled" || ev.Regarding.UID != "u1" {
		t.Errorf("event %+v, want the Scheduled event of ns/web", ev)
	}
}

// TestScheduledEventIsRecordedOnce checks that ReportBound records the event of a retried Bind.
func TestScheduledEventIsRecordedOnce(t *testing.T) {
	x, _ := newTestExecutor(nil, podOnNode("u1", ""))
	x.Execute(t.Context(), scheduling.Bind{ID: 1, Pod: web, Node: "n1", Retry: true})
	if n := len(x.o.Events.queue); n != 0 {
		t.Errorf("%d events for a retried Bind, want none", n)
	}
	x.Execute(t.Context(), scheduling.ReportBound{Bind: scheduling.Bind{ID: 2, Pod: web, Node: "n1"}})
	if ev := <-x.o.Events.queue; ev.Note != "Successfully assigned ns/web to n1" || ev.Reason != "Scheduled" {
		t.Errorf("event %+v, want the Scheduled event of ns/web", ev)
	}
}

// TestPendingAfterCanceledSubmit checks that an effect counts as pending only if Submit has enqueued it.
func TestPendingAfterCanceledSubmit(t *testing.T) {
	x, _ := newTestExecutor(nil)
	p := NewPool(x, 2, func(scheduling.Outcome) {})
	p.Submit(t.Context(), slices.Repeat([]scheduling.Effect{scheduling.RefreshPod{Pod: web}}, queuedPerWorker))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Submit(ctx, []scheduling.Effect{scheduling.RefreshPod{Pod: web}})
	if got := p.Pending(); got != queuedPerWorker {
		t.Errorf("%d pending effects, want %d, the size of the full queue", got, queuedPerWorker)
	}
}

func TestRefreshPod(t *testing.T) {
	x, _ := newTestExecutor(nil, podOnNode("u1", "n7"))
	if o := x.refreshPod(t.Context(), scheduling.RefreshPod{Pod: web}); o.Result != scheduling.Done || o.Pod.NodeName != "n7" {
		t.Errorf("existing pod: outcome %+v, want Done with node n7", o)
	}
	x, _ = newTestExecutor(nil)
	if o := x.refreshPod(t.Context(), scheduling.RefreshPod{Pod: web}); o.Result != scheduling.Done || o.Pod != nil {
		t.Errorf("deleted pod: outcome %+v, want Done without a pod", o)
	}
}

func TestReportUnschedulableWritesOnlyChanges(t *testing.T) {
	s := &decision.Summary{Outcome: decision.Infeasible, Nodes: 1, ReasonCounts: []decision.ReasonCount{
		{Plugin: decision.NodeResourcesFit, Reason: decision.Reason{Kind: decision.ReasonInsufficient, Subject: "cpu"}, Nodes: 1}}}
	x, client := newTestExecutor(nil, podOnNode("u1", ""))
	if o := x.reportUnschedulable(t.Context(), scheduling.ReportUnschedulable{Pod: web, Summary: s}); o.Result != scheduling.Done {
		t.Fatalf("got outcome %+v, want Done", o)
	}
	p, _ := client.CoreV1().Pods("ns").Get(t.Context(), "web", metav1.GetOptions{})
	if len(p.Status.Conditions) != 1 {
		t.Fatalf("got conditions %+v, want 1", p.Status.Conditions)
	}
	c := p.Status.Conditions[0]
	if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || c.Reason != "Unschedulable" ||
		c.Message != "0/1 nodes are available: 1 Insufficient cpu." || !c.LastTransitionTime.Time.Equal(testTime) {
		t.Errorf("got condition %+v, want PodScheduled=False with reason Unschedulable", c)
	}
	x.o.PodScheduled = func(*model.Pod) *corev1.PodCondition { return &c }
	before := len(client.Actions())
	x.reportUnschedulable(t.Context(), scheduling.ReportUnschedulable{Pod: web, Summary: s})
	if n := len(client.Actions()) - before; n != 0 {
		t.Errorf("an unchanged condition caused %d requests, want none", n)
	}
}

func TestRepeatedEventsBecomeASeries(t *testing.T) {
	now := clocktesting.NewFakeClock(testTime)
	e := NewEvents(nil, "test", now)
	record := func(note string) *string {
		e.Record(web, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", note)
		select {
		case ev := <-e.queue:
			name := ev.Name
			if ev.Series != nil {
				name += "+" + string('0'+rune(ev.Series.Count))
			}
			return &name
		default:
			return nil
		}
	}
	first := *record("a")
	if second := *record("a"); second != first+"+2" {
		t.Errorf("second event %s, want %s", second, first+"+2")
	}
	if third := record("a"); third != nil {
		t.Errorf("third event %s, want none before seriesInterval", *third)
	}
	now.Step(seriesInterval)
	if fourth := *record("a"); fourth != first+"+4" {
		t.Errorf("fourth event %s, want %s", fourth, first+"+4")
	}
	if otherMessage := *record("b"); otherMessage == first || strings.Contains(otherMessage, "+") {
		t.Errorf("event with another message %s, want a new event", otherMessage)
	}
	now.Step(seriesTimeout)
	if afterSeries := *record("a"); strings.Contains(afterSeries, "+") {
		t.Errorf("event after the end of the series %s, want a new event", afterSeries)
	}
}
