package cluster

import (
	"maps"
	"slices"
)

// cowMap is a copy-on-write map with string keys. A fork shares shards until one side writes to
// them. The zero value is empty.
type cowMap[V any] struct {
	owner  *token
	shards []shard[V]
	count  int
}

// token identifies the State that may write to shared data in place. It is not zero-sized,
// so two tokens never have the same address.
type token struct{ _ byte }

type shard[V any] struct {
	owner *token
	m     map[string]V
}

// entriesPerShard is the mean number of entries above which the number of shards doubles.
const entriesPerShard = 64

func (t *cowMap[V]) len() int { return t.count }

func (t *cowMap[V]) shardOf(key string) int {
	return int(Hash64(0, key) & uint64(len(t.shards)-1))
}

func (t *cowMap[V]) get(key string) (V, bool) {
	if t.count == 0 {
		var zero V
		return zero, false
	}
	v, ok := t.shards[t.shardOf(key)].m[key]
	return v, ok
}

func (t *cowMap[V]) put(key string, v V) {
	if len(t.shards) == 0 {
		t.shards = make([]shard[V], 1)
	}
	s := t.writable(t.shardOf(key))
	before := len(s.m)
	s.m[key] = v
	t.count += len(s.m) - before
	if t.count > entriesPerShard*len(t.shards) {
		t.grow()
	}
}

func (t *cowMap[V]) del(key string) {
	if _, ok := t.get(key); !ok {
		return
	}
	delete(t.writable(t.shardOf(key)).m, key)
	t.count--
}

// writable makes a shard exclusive to this map.
func (t *cowMap[V]) writable(i int) *shard[V] {
	s := &t.shards[i]
	if s.m == nil {
		s.m = make(map[string]V)
	} else if s.owner != t.owner {
		s.m = maps.Clone(s.m)
	}
	s.owner = t.owner
	return s
}

func (t *cowMap[V]) grow() {
	old := t.shards
	t.shards = make([]shard[V], 2*len(old))
	for i := range t.shards { // room for half of entriesPerShard entries, and a reserve
		t.shards[i] = shard[V]{t.owner, make(map[string]V, entriesPerShard/2+entriesPerShard/4)}
	}
	for i := range old {
		for k, v := range old[i].m {
			t.writable(t.shardOf(k)).m[k] = v
		}
	}
}

// fork returns a copy that shares the shards; both sides copy before writing.
func (t *cowMap[V]) fork(oldOwner, newOwner *token) cowMap[V] {
	f := *t
	t.owner = oldOwner
	f.owner = newOwner
	f.shards = slices.Clone(t.shards)
	return f
}

// keys returns all keys, sorted.
func (t *cowMap[V]) keys() []string {
	out := make([]string, 0, t.count)
	for i := range t.shards {
		for k := range t.shards[i].m {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
