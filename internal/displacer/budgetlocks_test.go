package displacer

import (
	"context"
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
	driver := Driver{Now: func() time.Time { return testTime }, ConvertBudget: conversion.New().Budget, LockBudget: func(_, name string) func() {
		got = append(got, "lock "+name)
		return func() { got = append(got, "unlock "+name) }
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

// TestBudgetHasOneLock checks that a budget is locked until it is unlocked, and always by the same lock.
func TestBudgetHasOneLock(t *testing.T) {
	var locks BudgetLocks
	held := func() (out []int) {
		for i := range locks {
			if !locks[i].TryLock() {
				out = append(out, i)
				continue
			}
			locks[i].Unlock()
		}
		return out
	}
	unlock := locks.Lock("ns", "b")
	first := held()
	unlock()
	if free := held(); len(first) != 1 || len(free) != 0 {
		t.Errorf("got the locks %v held by a budget and %v after it, want one and none", first, free)
	}
	defer locks.Lock("ns", "b")()
	if again := held(); !slices.Equal(again, first) {
		t.Errorf("got the locks %v held by the same budget, want %v", again, first)
	}
}
