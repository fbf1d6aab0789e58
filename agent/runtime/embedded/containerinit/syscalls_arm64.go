package containerinit

const (
	callSetns    = 268
	callExecveat = 281
)
