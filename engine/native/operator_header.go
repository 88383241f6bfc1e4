package native

import _ "embed"

//go:embed operator.h
var operatorHeader string

// OperatorHeader is the text of operator.h, for whoever writes an operator and has only
// this program.
func OperatorHeader() string { return operatorHeader }
