package agent

// IsSilent reports whether a node's agent is stopped or partitioned.
func (a *Agents) IsSilent(node string) bool {
	_, silent := a.silentSince[node]
	return silent
}

// silence records that a node's agent no longer reaches the API server.
func (a *Agents) silence(node string) {
	if !a.IsSilent(node) {
		a.silentSince[node] = a.w.Now()
	}
	a.w.Notify(Silent{node})
}

// StopAgent stops the agent of a node; its pods keep running.
func (a *Agents) StopAgent(node string) {
	if m := a.machine(node); m != nil {
		m.stopped = true
		m.stop()
		a.silence(node)
	}
}

// StartAgent starts the agent of a node from a list.
func (a *Agents) StartAgent(node string) {
	m := a.machine(node)
	if m == nil || !m.stopped {
		return
	}
	m.stopped = false
	if !m.partitioned { // else Reconnect starts it
		a.connect(m)
	}
}

// Partition disconnects a node from the API: its agent keeps running.
func (a *Agents) Partition(node string) {
	if m := a.machine(node); m != nil {
		m.partitioned = true
		a.silence(node)
	}
}

// Reconnect ends Partition: the agent gets the changes that it has missed, and its requests continue.
func (a *Agents) Reconnect(node string) {
	m := a.machine(node)
	if m == nil || !m.partitioned {
		return
	}
	m.partitioned = false
	held := m.held
	m.held = nil
	for _, arrive := range held {
		m.transmit(arrive)
	}
	if !m.stopped { // else StartAgent starts it
		a.connect(m)
	}
}

// connect makes a node's agent list its pods and write the node's status, after the latency. It starts a stopped agent.
func (a *Agents) connect(m *machine) {
	delete(a.silentSince, m.name)
	a.w.After(a.w.Latency(), func() {
		if a.IsSilent(m.name) {
			return
		}
		if m.process == nil {
			m.restart()
			return
		}
		m.replacePods(a.listPods(m.name))
		m.writeStatus()
	})
}

// Recover restarts stopped agents, reconnects partitioned nodes, and ends reported conditions.
func (a *Agents) Recover() {
	for _, m := range a.sorted() {
		m.clearReports()
		a.StartAgent(m.name)
		a.Reconnect(m.name)
	}
}
