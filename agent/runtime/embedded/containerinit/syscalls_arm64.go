package inside

const (
	callSetns    = 268
	callExecveat = 281
)
