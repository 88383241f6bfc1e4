package pyrand

const (
	mersenneSize  = 624
	mersenneShift = 397
)

// mersenne is MT19937 (Matsumoto and Nishimura, 1998).
type mersenne struct {
	state [mersenneSize]uint32
	next  int // index of the next word to temper; mersenneSize: twist first
}

// seedKnuth fills the state from one word by Knuth's recurrence.
func (m *mersenne) seedKnuth(seed uint32) {
	m.state[0] = seed
	for i := 1; i < mersenneSize; i++ {
		prev := m.state[i-1]
		m.state[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
	m.next = mersenneSize
}

// seedArray fills the state from the words of key, which must not be empty.
func (m *mersenne) seedArray(key []uint32) {
	m.seedKnuth(19650218)
	i, j := 1, 0
	wrap := func() {
		if i++; i == mersenneSize {
			m.state[0] = m.state[mersenneSize-1]
			i = 1
		}
	}
	for range max(mersenneSize, len(key)) {
		prev := m.state[i-1]
		m.state[i] = m.state[i] ^ (prev^prev>>30)*1664525 + key[j] + uint32(j)
		wrap()
		if j++; j == len(key) {
			j = 0
		}
	}
	for range mersenneSize - 1 {
		prev := m.state[i-1]
		m.state[i] = m.state[i] ^ (prev^prev>>30)*1566083941 - uint32(i)
		wrap()
	}
	m.state[0] = 1 << 31
	m.next = mersenneSize
}

func (m *mersenne) twist() {
	const upper, lower, matrix = 1 << 31, 1<<31 - 1, 0x9908b0df
	for i := range m.state {
		y := m.state[i]&upper | m.state[(i+1)%mersenneSize]&lower
		v := m.state[(i+mersenneShift)%mersenneSize] ^ y>>1
		if y&1 != 0 {
			v ^= matrix
		}
		m.state[i] = v
	}
	m.next = 0
}

// uint32 is the next output.
func (m *mersenne) uint32() uint32 {
	if m.next == mersenneSize {
		m.twist()
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 is uniform in [0, 1) with 53 bits, from two outputs.
func (m *mersenne) float64() float64 {
	a, b := m.uint32()>>5, m.uint32()>>6
	return float64(uint64(a)<<26|uint64(b)) / (1 << 53)
}
