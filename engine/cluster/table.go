package cluster

import (
	"maps"
	"slices"
)

// table is a map by string that forks in constant time per shard: shards are
// shared until one side writes to them. The zero table is empty.
type table[V any] struct {
	owner  *token
	shards []shard[V]
	count  int
}

// token identifies the State that may write to a piece in place. It has a size,
// so that two tokens never share an address.
type token struct{ _ byte }

type shard[V any] struct {
	owner *token
	m     map[string]V
}

// perShard is the mean number of entries above which the shards are doubled.
const perShard = 64

func (t *table[V]) len() int { return t.count }

func (t *table[V]) at(key string) int {
	return int(Hash64(0, key) & uint64(len(t.shards)-1))
}

func (t *table[V]) get(key string) (V, bool) {
	if t.count == 0 {
		var none V
		return none, false
	}
	v, ok := t.shards[t.at(key)].m[key]
	return v, ok
}

func (t *table[V]) put(key string, v V) {
	if len(t.shards) == 0 {
		t.shards = make([]shard[V], 1)
	}
	s := t.writable(t.at(key))
	before := len(s.m)
	s.m[key] = v
	t.count += len(s.m) - before
	if t.count > perShard*len(t.shards) {
		t.grow()
	}
}

func (t *table[V]) del(key string) {
	if _, ok := t.get(key); !ok {
		return
	}
	delete(t.writable(t.at(key)).m, key)
	t.count--
}

// writable makes a shard this table's own.
func (t *table[V]) writable(i int) *shard[V] {
	s := &t.shards[i]
	if s.m == nil {
		s.m = make(map[string]V)
	} else if s.owner != t.owner {
		s.m = maps.Clone(s.m)
	}
	s.owner = t.owner
	return s
}

func (t *table[V]) grow() {
	old := t.shards
	t.shards = make([]shard[V], 2*len(old))
	for i := range t.shards { // half of what each will have when the next ones are made, and some
		t.shards[i] = shard[V]{t.owner, make(map[string]V, perShard/2+perShard/4)}
	}
	for i := range old {
		for k, v := range old[i].m {
			t.writable(t.at(k)).m[k] = v
		}
	}
}

// fork returns a copy that shares the shards; both sides copy before writing.
func (t *table[V]) fork(mine, theirs *token) table[V] {
	f := *t
	t.owner = mine
	f.owner = theirs
	f.shards = slices.Clone(t.shards)
	return f
}

// keys are all keys, sorted.
func (t *table[V]) keys() []string {
	out := make([]string, 0, t.count)
	for i := range t.shards {
		for k := range t.shards[i].m {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
