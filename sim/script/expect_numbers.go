package script

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/berthproject/berth/controllers/endpoints"
	"github.com/berthproject/berth/sim/store"
)

// numbersFunc returns the counts of an object by name, and whether the object exists.
type numbersFunc func(r *run, name string) (map[string]int64, bool)

// endpointNumbers returns the endpoint counts of a Service.
func endpointNumbers(r *run, name string) (map[string]int64, bool) {
	_, ok := r.w.API().Get(store.Services, objectKey(store.Services, name))
	n := endpoints.Count(r.w.API().EndpointSlices(objectKey(store.Services, name)))
	return map[string]int64{"ready": int64(n.Ready), "terminating": int64(n.Terminating), "serving": int64(n.ServingTerminating)}, ok
}

// replicaNumbers returns the replica counts of a ReplicaSet.
func replicaNumbers(r *run, name string) (map[string]int64, bool) {
	o, _ := r.w.API().Get(store.ReplicaSets, objectKey(store.ReplicaSets, name))
	rs, ok := o.(*appsv1.ReplicaSet)
	if !ok {
		return map[string]int64{"replicas": 0, "ready": 0, "terminating": 0}, false
	}
	s := &rs.Status
	actual := map[string]int64{"replicas": int64(s.Replicas), "ready": int64(s.ReadyReplicas)}
	if s.TerminatingReplicas != nil {
		actual["terminating"] = int64(*s.TerminatingReplicas)
	}
	return actual, true
}

// expectNumbers reads an object's name and expected counts. It returns the check of the expectation.
func expectNumbers(w *tokens, kind string, numbers numbersFunc) (func(*run) error, error) {
	name, err := w.name("the " + kind)
	if err != nil {
		return nil, err
	}
	accepted := map[string][]string{"service": {"ready=", "terminating=", "serving="}, "replicaset": {"replicas=", "ready=", "terminating="}}[kind]
	o, err := w.options(accepted...)
	if err != nil {
		return nil, err
	}
	want := map[string]int64{}
	for _, word := range accepted {
		if word = strings.TrimSuffix(word, "="); o.has(word) {
			want[word] = o.number(word, 0, 0, 1<<31-1)
		}
	}
	if len(want) == 0 {
		return nil, fmt.Errorf("%s %s: must have an expected value of %s", kind, name, strings.Join(accepted, " "))
	}
	return func(r *run) error {
		actual, exists := numbers(r, name)
		if !exists {
			return fmt.Errorf("%s %s: not found", kind, name)
		}
		for _, word := range accepted {
			word = strings.TrimSuffix(word, "=")
			if n, expected := want[word]; expected && actual[word] != n {
				return fmt.Errorf("%s %s has %s=%d, want %d", kind, name, word, actual[word], n)
			}
		}
		return nil
	}, o.err
}
