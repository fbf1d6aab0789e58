package queue

// heap is a binary heap of entries that store their position.
type heap struct {
	less  func(a, b *entry) bool
	items []*entry
}

func (h *heap) head() *entry {
	if len(h.items) == 0 {
		return nil
	}
	return h.items[0]
}

func (h *heap) push(e *entry) {
	e.index = len(h.items)
	h.items = append(h.items, e)
	h.up(e.index)
}

func (h *heap) remove(e *entry) {
	i, last := e.index, len(h.items)-1
	h.swap(i, last)
	h.items[last] = nil
	h.items = h.items[:last]
	if i < last {
		h.fix(i)
	}
}

// fix restores the order after the entry at i changed.
func (h *heap) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h *heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

// down moves the entry at i down to its place. It reports whether the entry moved.
func (h *heap) down(i int) bool {
	from := i
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return i > from
		}
		if right := child + 1; right < len(h.items) && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], h.items[i]) {
			return i > from
		}
		h.swap(i, child)
		i = child
	}
}

func (h *heap) swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.items[i].index, h.items[j].index = i, j
}
