package deployment

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// wrote are the ReplicaSets as they were written last, as long as the cache shows an older state.
type wrote struct {
	mu   sync.Mutex
	sets map[types.UID]map[types.UID]written // by the Deployment's uid and their own
}

type written struct {
	set *appsv1.ReplicaSet
	at  time.Time
}

// overdue is how long the cache may be behind before the API server is asked.
const overdue = 10 * time.Second

func newWrote() *wrote { return &wrote{sets: map[types.UID]map[types.UID]written{}} }

func (w *wrote) note(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sets[d.UID] == nil {
		w.sets[d.UID] = map[types.UID]written{}
	}
	w.sets[d.UID][rs.UID] = written{rs, time.Now()}
}

func (w *wrote) drop(deployment, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.sets[deployment], uid); len(w.sets[deployment]) == 0 {
		delete(w.sets, deployment)
	}
}

// of is a copy of what was written for a Deployment.
func (w *wrote) of(d *appsv1.Deployment) map[types.UID]written {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[types.UID]written, len(w.sets[d.UID]))
	for uid, x := range w.sets[d.UID] {
		out[uid] = x
	}
	return out
}

// latest are the ReplicaSets of the cache, or as they were written since.
func (s *shell) latest(ctx context.Context, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) ([]*appsv1.ReplicaSet, error) {
	mine := s.wrote.of(d)
	for i, rs := range sets {
		x, ok := mine[rs.UID]
		if !ok {
			continue
		}
		delete(mine, rs.UID)
		if n, err := resourceversion.CompareResourceVersion(rs.ResourceVersion, x.set.ResourceVersion); err == nil && n < 0 {
			sets[i] = x.set
		} else {
			s.wrote.drop(d.UID, rs.UID)
		}
	}
	for uid, x := range mine { // made, but the cache has none of it, or no more
		if time.Since(x.at) > overdue {
			now, err := s.client.AppsV1().ReplicaSets(d.Namespace).Get(ctx, x.set.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && now.UID != uid {
				s.wrote.drop(d.UID, uid)
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		sets = append(sets, x.set)
	}
	return sets, nil
}
