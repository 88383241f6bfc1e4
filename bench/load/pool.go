package load

// connect starts an exchange; in a pool with an end, once a connection is free:
// in order of arrival, and with the clock of the request running, as behind the
// pool of the harness's HTTP library.
func (r *running) connect(x *exchange) {
	if r.pool == nil {
		r.via.start(x)
		return
	}
	x.asked = r.clock.Now()
	if admitted, _ := r.pool.arrive(x); admitted {
		x.pooled = true
		r.via.start(x)
		return
	}
	if class := x.run.aborted(); class != "" {
		r.leavePool(func(y *exchange) bool { return y == x }, class)
	}
}

// disconnect is told that an exchange no longer needs its connection.
func (r *running) disconnect(x *exchange) {
	if !x.pooled {
		return
	}
	x.pooled = false
	if next := r.pool.leave(); next != nil {
		next.pooled = true
		r.via.start(next)
	}
}

// leavePool ends those that match and wait for a connection.
func (r *running) leavePool(match func(x *exchange) bool, class Class) {
	if r.pool == nil {
		return
	}
	for _, x := range r.pool.remove(match) {
		now := r.clock.Now()
		x.begin(now)
		x.run.over(x, failed(now, fail(class, errStopped)))
	}
}
