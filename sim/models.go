package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// models are the converted pods by UID. budgetPods have only the fields that budgets read.
type models struct {
	pods       map[types.UID]*model.Pod
	budgetPods map[types.UID]*model.Pod
}

func newModels() models {
	return models{pods: map[types.UID]*model.Pod{}, budgetPods: map[types.UID]*model.Pod{}}
}

// update deletes the models of deleted pods.
func (m *models) update(c store.Change) {
	if c.Kind == store.Pods && c.New == nil {
		delete(m.pods, c.Old.GetUID())
		delete(m.budgetPods, c.Old.GetUID())
	}
}

// Converter returns the converter that actors share.
func (w *World) Converter() *conversion.Converter { return w.converter }

// Model converts a pod, once per version.
func (w *World) Model(p *corev1.Pod) *model.Pod {
	if m := w.models.pods[p.UID]; m != nil && m.ResourceVersion == p.ResourceVersion {
		return m
	}
	m := w.converter.Pod(p)
	w.models.pods[p.UID] = m
	return m
}

// BudgetPod converts the fields of a pod that budgets read, once per version.
func (w *World) BudgetPod(p *corev1.Pod) *model.Pod {
	if m := w.models.budgetPods[p.UID]; m != nil && m.ResourceVersion == p.ResourceVersion {
		return m
	}
	m := conversion.BudgetPod(p)
	w.models.budgetPods[p.UID] = m
	return m
}
