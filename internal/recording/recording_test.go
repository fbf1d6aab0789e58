package recording

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

func newMachine(json.RawMessage) (*scheduling.Machine, error) {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		return nil, err
	}
	cfg := scheduling.DefaultConfig()
	cfg.Profiles = []profiles.Profile{profiles.NewWithOptions(p, profiles.Options{})}
	return scheduling.New(cfg), nil
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)

// cluster feeds a machine and a recorder.
type cluster struct {
	t       *testing.T
	r       *Recorder
	machine *scheduling.Machine
	now     time.Time
	spec    *model.PodSpec
	pods    int
}

func newCluster(t *testing.T, dir string, o Options) *cluster {
	t.Helper()
	o.Writer = "up"
	r, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	m, err := newMachine(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, r: r, machine: m, now: start}
	c.spec = &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 1000}, Scoring: model.Resources{MilliCPU: 1000}}
	if err := r.Start(start, map[string]int{"seed": 1}); err != nil {
		t.Fatal(err)
	}
	c.step(node("n1"), node("n2"))
	return c
}

func node(name string) *model.Node {
	return &model.Node{Name: name, UID: name, Labels: model.Labels{{Key: "kubernetes.io/hostname", Value: name}}, Allocatable: model.Resources{MilliCPU: 2000, Memory: 1 << 30}, AllocatablePods: 110, Ready: true}
}

// step feeds events, and then the outcomes and changes that the effects cause.
func (c *cluster) step(events ...scheduling.Event) {
	for range 3 {
		effects, wake := c.machine.Step(c.now, events, 64)
		c.r.Add(c.now, events, 64, effects, wake)
		events = nil
		for _, e := range effects {
			events = append(events, scheduling.Outcome{ID: e.EffectID()})
			if b, ok := e.(scheduling.Bind); ok {
				bound := *b.Pod
				bound.NodeName = b.Node
				events = append(events, &bound)
			}
		}
		c.now = c.now.Add(time.Millisecond)
	}
	c.now = c.now.Add(time.Second)
}

func (c *cluster) addPods(n int) {
	for range n {
		c.pods++
		name := fmt.Sprintf("p%d", c.pods)
		c.step(&model.Pod{Namespace: "shop", Name: name, UID: "uid-" + name, Spec: c.spec, Created: c.now.Truncate(time.Second), Labels: model.Labels{{Key: "app", Value: "web"}}})
	}
}

func (c *cluster) removePod(name string) {
	c.step(scheduling.Remove{Object: &model.Pod{Namespace: "shop", Name: name, UID: "uid-" + name}})
}

func segments(t *testing.T, dir string) []Segment {
	t.Helper()
	out, err := Segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReplayedDecisionsAreEqual(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	c.addPods(6)
	c.r.Flush()
	c.removePod("p1")
	c.step()
	c.r.Flush()
	r, err := Replay(context.Background(), segments(t, dir)[:1], newMachine)
	if err != nil {
		t.Fatal(err)
	}
	if r.Difference != nil || r.Incomplete != "" || r.Decisions < 7 || r.Steps != 27 {
		t.Errorf("got %+v with difference %+v, want 27 steps with at least 7 equal decisions", r, r.Difference)
	}
	tampered := func(options json.RawMessage) (*scheduling.Machine, error) {
		m, err := newMachine(options)
		if err == nil {
			m.Step(start, []scheduling.Event{node("n3")}, 0)
		}
		return m, err
	}
	if r, err = Replay(context.Background(), segments(t, dir), tampered); err != nil || r.Difference == nil || r.Difference.Effect != 1 {
		t.Errorf("with another node: got %+v and error %v, want a difference in effect 1", r, err)
	}
}

func TestStateAt(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	c.addPods(4)
	full := c.now.Add(-time.Millisecond)
	c.addPods(1)
	c.r.Flush()
	for _, limit := range []bool{false, true} {
		if limit { // the state of a later segment starts with its snapshot
			c.r.w.endSegment(false)
		}
		c.removePod("p1")
		c.removePod("p5")
		c.r.Flush()
	}
	all := segments(t, dir)
	if len(all) != 2 {
		t.Fatalf("got %d segments, want 2", len(all))
	}
	for _, x := range []struct {
		at            time.Time
		bound, queued int
	}{{start, 0, 0}, {full, 4, 0}, {full.Add(time.Second), 4, 1}, {c.now, 3, 0}} {
		s, err := StateAt(all, x.at)
		if err != nil {
			t.Fatal(err)
		}
		bound, queued := 0, 0
		for _, p := range s.Pods() {
			if p.NodeName != "" {
				bound++
				continue
			}
			queued++
			if d, ok := s.LastDecision(p.UID); !ok || d.Effect.(scheduling.ReportUnschedulable).Summary.Outcome != decision.Infeasible {
				t.Errorf("at %v: pod %s: got decision %v, want unschedulable", x.at, p.Name, d)
			}
		}
		if bound != x.bound || queued != x.queued || len(s.Nodes()) != 2 {
			t.Errorf("at %v: got %d bound and %d pending pods on %d nodes, want %d, %d and 2", x.at, bound, queued, len(s.Nodes()), x.bound, x.queued)
		}
	}
	if _, err := StateAt(all, start.Add(-time.Second)); !errors.Is(err, ErrNoState) {
		t.Errorf("before the start: got %v, want ErrNoState", err)
	}
}

func TestSharedSpecificationsStayShared(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	c.addPods(2)
	c.r.Flush()
	s, err := StateAt(segments(t, dir), c.now)
	if err != nil {
		t.Fatal(err)
	}
	pods := s.Pods()
	if pods[0].Spec != pods[1].Spec || !reflect.DeepEqual(pods[0].Spec, c.spec) {
		t.Errorf("got specifications %p and %p, want one, equal to the recorded one", pods[0].Spec, pods[1].Spec)
	}
}

func TestIncompleteFrameIsIgnored(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	c.addPods(2)
	c.r.Flush()
	path := segments(t, dir)[0].Path
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	c.addPods(2)
	c.r.Flush()
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{after.Size() - 1, before.Size() + frameHeader, before.Size() + 3, before.Size()} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		r, err := Replay(context.Background(), segments(t, dir), newMachine)
		if err != nil || r.Difference != nil || r.Steps != 9 {
			t.Errorf("%d bytes: got %+v, %v; want the 9 steps of the complete frame", size, r, err)
		}
	}
	if err := os.Truncate(path, int64(len(magic))+2); err != nil {
		t.Fatal(err)
	}
	if got := segments(t, dir); len(got) != 0 {
		t.Errorf("without a complete frame: got %d segments, want none", len(got))
	}
}

func TestCrashWithinASnapshot(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	c.addPods(1)
	c.r.Flush()
	c.r.w.endSegment(false)
	c.addPods(1)
	c.r.Flush()
	path := segments(t, dir)[1].Path
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := len(magic) + frameHeader + int(binary.LittleEndian.Uint32(data[len(magic):]))
	for _, size := range []int{header, header + 5, len(data) - 1} {
		if err := os.WriteFile(path, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := StateAt(segments(t, dir), c.now); err != nil || len(s.Pods()) != 1 {
			t.Errorf("%d of %d bytes: got %v, want the state of the segment before", size, len(data), err)
		}
	}
}

// newTwoSegments records a run of two segments.
func newTwoSegments(t *testing.T) (c *cluster, list []Segment) {
	t.Helper()
	dir := t.TempDir()
	c = newCluster(t, dir, Options{})
	c.r.Flush()
	c.addPods(1)
	c.r.Flush()
	c.r.w.endSegment(false)
	c.addPods(1)
	c.r.Flush()
	if list = segments(t, dir); len(list) != 2 {
		t.Fatalf("got %d segments, want 2", len(list))
	}
	return c, list
}

func TestDamageWithinARunIsReported(t *testing.T) {
	_, list := newTwoSegments(t)
	data, err := os.ReadFile(list[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(list[0].Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Replay(context.Background(), list, newMachine)
	if err != nil || r.Difference != nil || r.Steps != 3 || !strings.Contains(r.Incomplete, list[0].Path+" is damaged") {
		t.Errorf("got %+v, %v; want the 3 steps before the damage", r, err)
	}
}

func TestDeletedSegmentIsReported(t *testing.T) {
	c, list := newTwoSegments(t)
	if err := os.Remove(list[1].Path); err != nil {
		t.Fatal(err)
	}
	if r, err := Replay(context.Background(), list, newMachine); err != nil || r.Steps != 6 || !strings.Contains(r.Incomplete, "was deleted") {
		t.Errorf("got %+v, %v; want the 6 steps of the first segment", r, err)
	}
	if _, err := StateAt(list, c.now); !errors.Is(err, ErrNoState) {
		t.Errorf("got %v, want ErrNoState", err)
	}
}

func TestRunOfAnotherSchemaIsNotReplayed(t *testing.T) {
	_, list := newTwoSegments(t)
	list[0].Header.Schema = "0123456789abcdef"
	r, err := Replay(context.Background(), list, newMachine)
	if err != nil || r.Steps != 0 || !strings.Contains(r.Incomplete, "0123456789abcdef") || !strings.Contains(r.Incomplete, Schema) {
		t.Errorf("got %+v, %v; want a reason that names both schemas", r, err)
	}
}

// recordManyPods records the arrival and end of 300 pods.
func recordManyPods(t *testing.T, dir string, o Options) {
	t.Helper()
	c := newCluster(t, dir, o)
	for i := range 300 {
		c.addPods(1)
		c.removePod(fmt.Sprintf("p%d", c.pods))
		if i%3 == 0 {
			c.r.Flush()
		}
	}
	c.r.Flush()
}

func TestKeepAllKeepsOldSegments(t *testing.T) {
	dir := t.TempDir()
	recordManyPods(t, dir, Options{MaxBytes: 16 << 10, KeepAll: true})
	list := segments(t, dir)
	if r, err := Replay(context.Background(), Runs(list)[0], newMachine); err != nil || len(list) < 3 || list[0].Header.Number != 0 || r.Incomplete != "" || r.Steps == 0 {
		t.Errorf("got %d segments from number %d, a replay with %+v, %v; want several, from the first one, and a complete replay", len(list), list[0].Header.Number, r, err)
	}
}

func TestOldSegmentsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	recordManyPods(t, dir, Options{MaxBytes: 16 << 10})
	var total int64
	list := segments(t, dir)
	for _, s := range list {
		info, err := os.Stat(s.Path)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 16<<10 || len(list) < 3 || list[0].Header.Number == 0 {
		t.Errorf("got %d segments from number %d with %d bytes, want several, without the first, at most 16 KiB", len(list), list[0].Header.Number, total)
	}
	if s, err := StateAt(list, list[0].Header.Start); err != nil || len(s.Nodes()) != 2 {
		t.Errorf("state at the start of the oldest segment: got error %v, want 2 nodes", err)
	}
	if r, err := Replay(context.Background(), Runs(list)[0], newMachine); err != nil || r.Incomplete == "" || r.Steps != 0 {
		t.Errorf("got %+v, %v; want that the run cannot be replayed", r, err)
	}
}

func TestDroppedStepsLeaveAGap(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	c.addPods(2)
	c.r.Flush()
	c.addPods(1)
	c.r.collapse() // the writer is too slow
	c.addPods(1)
	c.r.Flush()
	c.r.w.dir = dir + "/missing" // writing fails
	c.r.w.endSegment(false)
	c.removePod("p1")
	c.r.Flush()
	c.removePod("p2")
	c.r.Flush() // dropped without another try
	c.r.w.dir, c.r.w.retryAt = dir, time.Time{}
	c.removePod("p3")
	c.r.Flush()
	list := segments(t, dir)
	if len(list) != 3 || !list[1].Header.Gap || !list[2].Header.Gap {
		t.Fatalf("got segments %+v, want 3, with gaps before the second and the third", list)
	}
	s, err := StateAt(list, c.now)
	if err != nil || len(s.Pods()) != 1 {
		t.Errorf("got %v and %d pods, want that the state includes the dropped steps: 1 pod", err, len(s.Pods()))
	}
	r, err := Replay(context.Background(), list, newMachine)
	if err != nil || r.Difference != nil || r.Steps != 9 || r.Incomplete == "" {
		t.Errorf("got %+v, %v; want 9 equal steps and a gap", r, err)
	}
	if st := c.r.Stats(); st.DroppedSteps != 9 || st.Steps == 0 || st.Bytes == 0 {
		t.Errorf("got %+v, want 9 dropped steps", st)
	}
}

// TestLargestStepIsNotDropped checks that the first step of a large cluster may exceed maxPending.
func TestLargestStepIsNotDropped(t *testing.T) {
	r := &Recorder{w: &writer{state: newState()}, flushEarly: make(chan struct{}, 1)}
	r.Add(start, make([]scheduling.Event, maxPending+1), 64, nil, start)
	r.Add(start, nil, 64, nil, start)
	if st := r.Stats(); st.DroppedSteps != 0 || len(r.flushEarly) != 0 {
		t.Errorf("after a large step: got %+v, want no dropped steps", st)
	}
	for range maxPending/2 + 1 {
		r.Add(start, nil, 64, nil, start)
	}
	if st := r.Stats(); st.DroppedSteps != 0 || len(r.flushEarly) != 1 {
		t.Errorf("after many steps: got %+v, want no dropped steps and that Run writes early", st)
	}
}

func TestSegmentFull(t *testing.T) {
	const mi, maxBytes = 1 << 20, 16 << 30
	for _, x := range []struct {
		size, initial int64
		want          bool
	}{{60 * mi, mi, false}, {65 * mi, mi, true}, {65 * mi, 60 * mi, false}, {121 * mi, 60 * mi, true}} {
		if got := (&segmentFile{size: x.size, initial: x.initial}).isFull(maxBytes); got != x.want {
			t.Errorf("%d MiB with a snapshot of %d MiB: got full %t, want %t", x.size/mi, x.initial/mi, got, x.want)
		}
	}
}

// TestSegmentsThatUsersDelete checks that a segment without a file, such as a dangling link, does not stop the
// recording.
func TestSegmentsThatUsersDelete(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	if err := os.Symlink("missing", filepath.Join(dir, "inputs-up.00000000.rec")); err != nil {
		t.Fatal(err)
	}
	c.r.Flush()
	if st := c.r.Stats(); st.DroppedSteps != 0 || st.Steps != 3 {
		t.Errorf("got %+v, want 3 recorded steps", st)
	}
}

func TestRestartStartsARun(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, Options{})
	if _, err := Open(dir, Options{Writer: "up"}); err == nil {
		t.Error("a second writer got no error")
	}
	c.addPods(1)
	if err := c.r.Close(); err != nil {
		t.Fatal(err)
	}
	start = start.Add(time.Hour)
	defer func() { start = start.Add(-time.Hour) }()
	second := newCluster(t, dir, Options{})
	second.r.Flush()
	if runs := Runs(segments(t, dir)); len(runs) != 2 || len(runs[1]) != 1 || string(runs[1][0].Header.Options) != `{"seed":1}` {
		t.Errorf("got runs %+v, want 2 with the options", runs)
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	r := &Recorder{w: &writer{}}
	events, effects := []scheduling.Event{node("n1")}, []scheduling.Effect{scheduling.Bind{}}
	for range 1000 {
		r.Add(start, events, 64, effects, start)
	}
	r.pending.reset()
	if n := testing.AllocsPerRun(500, func() { r.Add(start, events, 64, effects, start) }); n != 0 {
		t.Errorf("Add allocates %v times, want 0", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	r, err := Open(b.TempDir(), Options{Writer: "up"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if err := r.Start(start, nil); err != nil {
		b.Fatal(err)
	}
	spec := &model.PodSpec{SchedulerName: "default-scheduler"}
	var pods []*model.Pod
	for i := range 1000 {
		pods = append(pods, &model.Pod{Namespace: "shop", Name: fmt.Sprintf("web-%08x-%05d", i*7919, i), UID: fmt.Sprintf("0c6cbf1b-2f5b-4b8e-%04x-%012x", i, i*104729), Spec: spec,
			Created: start, ResourceVersion: fmt.Sprint(100000 + i), Owner: model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d8c7", UID: "4b8e"}})
	}
	var events []scheduling.Event
	var effects []scheduling.Effect
	for i, p := range pods {
		events = append(events, p)
		effects = append(effects, scheduling.Bind{ID: uint64(i), Pod: p, Node: "n1"})
	}
	add := func(i int) { r.Add(start, events[i:i+1], 64, effects[i:i+1], start) }
	b.Run("Add", func(b *testing.B) { // what a step of the scheduler waits for
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if add(i % len(pods)); i%len(pods) == 0 {
				r.pending.reset()
			}
		}
	})
	r.pending.reset()
	b.Run("Encode", func(b *testing.B) { // in the background, without the disk
		n, bytes := 0, 0
		for b.Loop() {
			for i := range pods {
				add(i)
			}
			steps, _ := r.encodePending()
			n += steps
			bytes += len(appendFrame(r.w.frame[:0], r.w.encoder.buf, r.w.z))
			r.w.encoder.buf = r.w.encoder.buf[:0]
		}
		b.ReportMetric(float64(bytes)/float64(n), "bytes/event")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
	})
}
