package answers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/reports"
)

// budgetsAt returns the disruption budgets at a time as a list of the API.
func (a Source) budgetsAt(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error) {
	if err := requireList(ctx, config, policyv1.Resource("poddisruptionbudgets"), namespace); err != nil {
		return nil, err
	}
	state, err := reports.StateAt(a.Journal, at)
	if err != nil {
		return nil, err
	}
	list := struct {
		Items []recordedBudget `json:"items"`
	}{Items: []recordedBudget{}}
	for _, b := range state.Budgets() {
		if namespace == "" || b.Namespace == namespace {
			list.Items = append(list.Items, newRecordedBudget(b))
		}
	}
	return json.Marshal(list)
}

// recordedBudget is what is recorded of a PodDisruptionBudget, in the form of the API.
type recordedBudget struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              policyv1.PodDisruptionBudgetSpec `json:"spec"`
	Status            recordedBudgetStatus             `json:"status"`
}

type recordedBudgetStatus struct {
	DisruptionsAllowed int32                `json:"disruptionsAllowed"`
	CurrentHealthy     int32                `json:"currentHealthy"`
	DesiredHealthy     int32                `json:"desiredHealthy"`
	ExpectedPods       int32                `json:"expectedPods"`
	Debits             map[string]time.Time `json:"disruptedPods,omitempty"`
	Conditions         []metav1.Condition   `json:"conditions,omitempty"`
}

func newRecordedBudget(b *model.Budget) recordedBudget {
	out := recordedBudget{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, UID: types.UID(b.UID), ResourceVersion: b.ResourceVersion},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: budgetAmount(b.MinAvailable), MaxUnavailable: budgetAmount(b.MaxUnavailable)},
		Status: recordedBudgetStatus{DisruptionsAllowed: b.DisruptionsAllowed, CurrentHealthy: b.CurrentHealthy, DesiredHealthy: b.DesiredHealthy,
			ExpectedPods: b.ExpectedPods, Debits: map[string]time.Time{}}}
	for i, name := range b.Disrupted {
		out.Status.Debits[name] = b.DisruptedAt[i].UTC()
	}
	if b.ObservedGeneration == 0 {
		return out // the status is not computed yet
	}
	c := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason}
	switch {
	case b.SyncError != "":
		c.Reason, c.Message = policyv1.SyncFailedReason, b.SyncError
	case b.DisruptionsAllowed > 0:
		c.Status, c.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	out.Status.Conditions = []metav1.Condition{c}
	return out
}

func budgetAmount(n model.IntOrPercent) *intstr.IntOrString {
	out := intstr.FromInt32(n.Value)
	switch {
	case !n.Set:
		return nil
	case n.Percent:
		out = intstr.FromString(fmt.Sprint(n.Value, "%"))
	}
	return &out
}
