package displacer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// TestBudgetIsLockedWhileItIsDebited checks that each budget is locked from its read to its update, and that no two are.
func TestBudgetIsLockedWhileItIsDebited(t *testing.T) {
	pod := lowPriorityPod("a")
	d, client, _ := newTestDisplacer(t, pod, budgetAllowing("x", 1), budgetAllowing("y", 0))
	var got []string
	client.PrependReactor("*", "poddisruptionbudgets", func(a ktesting.Action) (bool, runtime.Object, error) {
		got = append(got, a.GetVerb())
		return false, nil, nil
	})
	driver := Driver{Now: func() time.Time { return testTime }, ConvertBudget: conversion.New().Budget, LockBudget: func(_ context.Context, _, name string) (func(), error) {
		got = append(got, "lock "+name)
		return func() { got = append(got, "unlock "+name) }, nil
	}}
	debit := func(name string) decision.Debit {
		return decision.Debit{Budget: &model.Budget{Namespace: "ns", Name: name}, Granted: []string{"a"}}
	}
	spec := displacement.Spec{Record: displacement.Record{Cause: displacement.Preemption}, Attempt: 1, Victims: []displacement.Victim{{Pod: PodModel(pod)}},
		Debits: []decision.Debit{debit("x"), debit("y")}}
	driver.Run(context.Background(), clientStore{d}, spec)
	want := []string{"lock x", "get", "update", "unlock x", "lock y", "get", "unlock y", "get", "update"} // the second budget refuses
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBudgetLockEndsWithTheContext checks that a displacement which waits for the lock of a budget ends with its context,
// and that locks are deleted after their use.
func TestBudgetLockEndsWithTheContext(t *testing.T) {
	pod := lowPriorityPod("a")
	d, client, _ := newTestDisplacer(t, pod, budgetAllowing("x", 1))
	var locks BudgetLocks
	unlock, err := locks.Lock(t.Context(), "ns", "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.Lock(t.Context(), "ns", "y"); err != nil {
		t.Errorf("locking another budget: %v", err)
	}
	d.LockBudget = locks.Lock
	spec := displacement.Spec{Record: displacement.Record{Cause: displacement.Preemption}, Attempt: 1, Victims: []displacement.Victim{{Pod: PodModel(pod)}},
		Debits: []decision.Debit{{Budget: &model.Budget{Namespace: "ns", Name: "x"}, Granted: []string{"a"}}}}
	if o, failure := d.Run(ctx, spec); o.Kind != displacement.Unfinished || !errors.Is(failure.Err, context.Canceled) {
		t.Errorf("got outcome %v and error %v, want an unfinished displacement with the error of the context", o.Kind, failure.Err)
	}
	if got := recordedRequests(client); got != "" {
		t.Errorf("got the writes %q while the lock is held, want none", got)
	}
	unlock()
	if len(locks.inUse) != 1 {
		t.Errorf("%d locks are in use, want that of the locked budget only", len(locks.inUse))
	}
}
