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
	if m := a.findMachine(node); m != nil {
		m.stopped = true
		m.stop()
		a.silence(node)
	}
}

// StartAgent starts the agent of a node from a list.
func (a *Agents) StartAgent(node string) {
	m := a.findMachine(node)
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
	if m := a.findMachine(node); m != nil {
		m.partitioned = true
		a.silence(node)
	}
}

// Reconnect ends Partition: the agent lists its node and its pods, and its requests continue.
func (a *Agents) Reconnect(node string) {
	m := a.findMachine(node)
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

// connect makes a node's agent list its node and its pods and write the node's status, after the latency. Until then it
// gets no changes. connect starts a stopped agent, and restarts an agent whose node was recreated or resized.
func (a *Agents) connect(m *machine) {
	delete(a.silentSince, m.name)
	m.connecting++
	a.w.After(a.w.Latency(), func() {
		if m.connecting--; !m.isConnected() {
			return
		}
		n := m.readNode()
		if m.process == nil || !m.process.serves(n) {
			m.stop()
			m.restart()
			return
		}
		m.observeNode(n)
		m.replacePods(a.listPods(m.name))
		m.writeStatus()
	})
}

// Recover restarts stopped agents, reconnects partitioned nodes, and ends reported conditions.
func (a *Agents) Recover() {
	for _, m := range a.sorted() {
		m.clearConditions()
		a.StartAgent(m.name)
		a.Reconnect(m.name)
	}
}
