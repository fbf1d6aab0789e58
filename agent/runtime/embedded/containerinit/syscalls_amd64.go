package containerinit

const (
	callSetns    = 308
	callExecveat = 322
)
