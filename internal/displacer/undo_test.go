package displacer

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// TestUndoAfterCancel checks that a displacement whose context ends after its debits refunds them.
func TestUndoAfterCancel(t *testing.T) {
	pod := lowPriorityPod("a")
	d, client, _ := newTestDisplacer(t, pod, budgetAllowing("x", 1))
	ctx, cancel := context.WithCancel(t.Context())
	driver := Driver{Now: func() time.Time { return testTime }, ConvertBudget: conversion.New().Budget, UndoTimeout: time.Minute,
		OnUndoFailed: func(a displacement.Action, err error) { t.Errorf("undo: %T failed: %v, want no error", a, err) }}
	spec := displacement.Spec{Record: displacement.Record{Cause: displacement.Preemption}, Attempt: 1, Victims: []displacement.Victim{{Pod: PodModel(pod)}},
		Debits: []decision.Debit{{Budget: &model.Budget{Namespace: "ns", Name: "x"}, Granted: []string{"a"}}}}
	o, failure := driver.Run(ctx, canceledStore{clientStore{d}, cancel}, spec)
	if o.Kind != displacement.Unfinished || failure.Err == nil {
		t.Errorf("got outcome %v and error %v, want an unfinished displacement with an error", o.Kind, failure.Err)
	}
	b, err := client.PolicyV1().PodDisruptionBudgets("ns").Get(t.Context(), "x", metav1.GetOptions{})
	if err != nil || len(b.Status.DisruptedPods) > 0 || b.Status.DisruptionsAllowed != 1 {
		t.Errorf("got error %v and status %+v, want 1 disruption allowed and no entry", err, b.Status)
	}
}

// TestUndoRestoresTheConditionOfAnotherCause checks that a displacement which is undone restores the condition that it
// replaced.
func TestUndoRestoresTheConditionOfAnotherCause(t *testing.T) {
	pod := lowPriorityPod("a")
	taint := conversion.NewDisruptionTarget(displacement.Taint.Reason(), "a taint", metav1.NewTime(testTime).UTC())
	pod.Status.Conditions = []corev1.PodCondition{taint}
	d, client, _ := newTestDisplacer(t, pod)
	client.PrependReactor("delete", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(pods, "a", nil)
	})
	if err := d.Displace(t.Context(), Displacement{Pod: pod, Cause: displacement.Preemption}); !apierrors.IsForbidden(err) {
		t.Errorf("got error %v, want that of the forbidden deletion", err)
	}
	p, err := client.CoreV1().Pods("ns").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := conversion.ActiveDisruptionTarget(p); c == nil || c.Reason != taint.Reason || c.Message != taint.Message {
		t.Errorf("got condition %+v after the undo, want that of the taint", c)
	}
}

// canceledStore cancels the context of the displacement when a condition is set. Requests with a canceled context fail.
type canceledStore struct {
	Store
	cancel context.CancelFunc
}

func (s canceledStore) SetCondition(ctx context.Context, _ ConditionWrite) (ConditionResult, error) {
	s.cancel()
	return ConditionResult{}, ctx.Err()
}

func (s canceledStore) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.Store.Pod(ctx, namespace, name)
}

func (s canceledStore) Budget(ctx context.Context, namespace, name string) (*policyv1.PodDisruptionBudget, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.Store.Budget(ctx, namespace, name)
}

func (s canceledStore) UpdateBudget(ctx context.Context, b *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.Store.UpdateBudget(ctx, b)
}
