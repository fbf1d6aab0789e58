package fastpath

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

// benchCluster returns an engine for 5,000 nodes of several sizes with one pod each, and a
// pending pod.
func benchCluster(b *testing.B) (*Engine, *model.Pod) {
	r := rand.New(rand.NewPCG(1, 1))
	s := cluster.New()
	for i := range 5000 {
		n := build.Node(fmt.Sprint("n", i), build.Zone(string(rune('a'+r.IntN(3)))))
		n.Allocatable = model.Resources{MilliCPU: int64(8+8*r.IntN(4)) * 1000, Memory: int64(32+r.IntN(96)) << 30}
		s.UpsertNode(n)
		spec := &model.PodSpec{Requests: model.Resources{MilliCPU: int64(r.IntN(8000)), Memory: int64(r.IntN(16)) << 30}}
		spec.Scoring = spec.Requests
		s.UpsertPod(&model.Pod{UID: fmt.Sprint(i), Namespace: "d", Name: fmt.Sprint(i), Spec: spec, NodeName: n.Name})
	}
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	e := NewEngine(s, p, 1)
	spec := &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 500, Memory: 1 << 30}}
	spec.Scoring = spec.Requests
	return e, &model.Pod{UID: "x", Namespace: "d", Name: "x", Spec: spec}
}

// BenchmarkScan measures one scan.
func BenchmarkScan(b *testing.B) {
	e, pod := benchCluster(b)
	ec := e.classOf(pod)
	e.prepare(ec, pod)
	b.ReportAllocs()
	for b.Loop() {
		e.scan(ec)
	}
}

// BenchmarkReference measures the reference evaluator on the same cluster.
func BenchmarkReference(b *testing.B) {
	e, pod := benchCluster(b)
	for b.Loop() {
		placement.Evaluate(e.state, e.profile, 1, pod)
	}
}
