package conversion

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// Snapshot converts a list of objects to a cluster state and returns all of its pods in the order of the list. It
// drops the nominations of pods of other schedulers. It skips kinds that scheduling does not read; ignored is their
// number.
func (conv *Converter) Snapshot(objects []runtime.Object, schedulers ...string) (s *cluster.State, pods []*model.Pod, ignored int) {
	s = cluster.New()
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			m := conv.Pod(p)
			if !slices.Contains(schedulers, m.Spec.SchedulerName) {
				m = m.WithoutNomination()
			}
			pods = append(pods, m)
			s.UpsertPod(m)
		} else if !s.Upsert(conv.Convert(o)) {
			ignored++
		}
	}
	return s, pods, ignored
}
