package drain

// Surge is a workload that runs one more for a while.
type Surge struct{}

func (m *Machine) surgeUp(*View, *Move) Action { return nil }
func (m *Machine) surgeDown(*View) Action      { return nil }
