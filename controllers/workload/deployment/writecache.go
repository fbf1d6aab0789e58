package deployment

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

// writeCache holds the last written state of ReplicaSets until the informer cache shows it.
type writeCache struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	sets map[types.UID]map[types.UID]cachedWrite // by the UIDs of Deployment and ReplicaSet
}

type cachedWrite struct {
	set *appsv1.ReplicaSet
	at  time.Time
}

// cacheLagTimeout is how long the cache may lag before the API server is queried.
const cacheLagTimeout = 10 * time.Second

func newWriteCache(c clock.PassiveClock) *writeCache {
	return &writeCache{clock: c, sets: map[types.UID]map[types.UID]cachedWrite{}}
}

func (w *writeCache) record(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sets[d.UID] == nil {
		w.sets[d.UID] = map[types.UID]cachedWrite{}
	}
	w.sets[d.UID][rs.UID] = cachedWrite{rs, w.clock.Now()}
}

func (w *writeCache) drop(deployment, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.sets[deployment], uid); len(w.sets[deployment]) == 0 {
		delete(w.sets, deployment)
	}
}

// forDeployment returns a copy of the writes for a Deployment.
func (w *writeCache) forDeployment(d *appsv1.Deployment) map[types.UID]cachedWrite {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[types.UID]cachedWrite, len(w.sets[d.UID]))
	for uid, write := range w.sets[d.UID] {
		out[uid] = write
	}
	return out
}

// overlayWrites replaces cached ReplicaSets by newer written states.
func (c *controller) overlayWrites(ctx context.Context, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) ([]*appsv1.ReplicaSet, error) {
	writes := c.writes.forDeployment(d)
	for i, rs := range sets {
		write, ok := writes[rs.UID]
		if !ok {
			continue
		}
		delete(writes, rs.UID)
		if n, err := resourceversion.CompareResourceVersion(rs.ResourceVersion, write.set.ResourceVersion); err == nil && n < 0 {
			sets[i] = write.set
		} else {
			c.writes.drop(d.UID, rs.UID)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(writes)) { // created, but not in the cache, or deleted meanwhile
		write := writes[uid]
		if c.env.Since(write.at) > cacheLagTimeout {
			current, err := c.client.AppsV1().ReplicaSets(d.Namespace).Get(ctx, write.set.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && current.UID != uid {
				c.writes.drop(d.UID, uid)
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		sets = append(sets, write.set)
	}
	return sets, nil
}
