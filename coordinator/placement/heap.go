package placement

// candidate is a node that could take the next instance.
type candidate struct {
	score     int64
	instances int32
	rank      int32
}

// before reports whether a is chosen before b.
func (a candidate) before(b candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	if a.instances != b.instances {
		return a.instances < b.instances
	}
	return a.rank < b.rank
}

// heap holds the candidates of one zone, with the best first. Each entry has four children that come after it, so that the heap
// has few levels. at is, by rank, the node's index in its zone's heap.
type heap struct {
	all []candidate
	at  []int32
}

// below is the number of children of each entry in a heap.
const below = 4

// absent is the index of a rank that is in no heap.
const absent = -1

func (h *heap) put(c candidate) {
	i := h.at[c.rank]
	if i == absent {
		i = int32(len(h.all))
		h.all = append(h.all, c)
		h.up(i)
		return
	}
	h.all[i] = c
	if h.up(i) == i {
		h.down(i)
	}
}

func (h *heap) remove(rank int32) {
	i := h.at[rank]
	if i == absent {
		return
	}
	last := int32(len(h.all) - 1)
	moved := h.all[last]
	h.all = h.all[:last]
	h.at[rank] = absent
	if i == last {
		return
	}
	h.all[i] = moved
	if h.up(i) == i {
		h.down(i)
	}
}

// up moves the entry at i up to its place, and returns that place.
func (h *heap) up(i int32) int32 {
	c := h.all[i]
	for i > 0 {
		parent := (i - 1) / below
		if !c.before(h.all[parent]) {
			break
		}
		h.all[i] = h.all[parent]
		h.at[h.all[i].rank] = i
		i = parent
	}
	h.all[i] = c
	h.at[c.rank] = i
	return i
}

func (h *heap) down(i int32) {
	c, n := h.all[i], int32(len(h.all))
	for below*i+1 < n {
		child := h.bestBelow(i)
		if !h.all[child].before(c) {
			break
		}
		h.all[i] = h.all[child]
		h.at[h.all[i].rank] = i
		i = child
	}
	h.all[i] = c
	h.at[c.rank] = i
}

// bestBelow returns the index of the best child of i, which has at least one.
func (h *heap) bestBelow(i int32) int32 {
	first := below*i + 1
	best := first
	for child := first + 1; child < min(first+below, int32(len(h.all))); child++ {
		if h.all[child].before(h.all[best]) {
			best = child
		}
	}
	return best
}

// order makes a heap of entries that were appended in no order.
func (h *heap) order() {
	for i := range h.all {
		h.at[h.all[i].rank] = int32(i)
	}
	for i := int32(len(h.all)+below-2)/below - 1; i >= 0; i-- {
		h.down(i)
	}
}

// second returns the best candidate after the first.
func (h *heap) second() (candidate, bool) {
	if len(h.all) < 2 {
		return candidate{}, false
	}
	return h.all[h.bestBelow(0)], true
}
