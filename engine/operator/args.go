package operator

import "encoding/binary"

// The argument structs of operator.h, field by field; a test compiles the header and compares sizes
// and offsets. Pointers are addresses in the process that calls the operator. binary.Append writes
// blank fields as zeros, which is the padding a C compiler leaves.

type attnDecodeArgs struct {
	StructSize                                    uint32
	Batch, QPerSeq                                int32
	QHeads, KVHeads, HeadDim, PageSize, MaxSeqLen int32
	Scale                                         float32
	QDType, KVDType, OutDType                     int32
	Q                                             uint64
	QSeqStride, QRowStride, QHeadStride           int64
	KPages, VPages                                uint64
	KPageStride, KSlotStride, KHeadStride         int64
	VPageStride, VSlotStride, VHeadStride         int64
	BlockTable                                    uint64
	BlockTableStride                              int64
	SeqLen                                        uint64
	Out                                           uint64
	OutSeqStride, OutRowStride, OutHeadStride     int64
	LSE                                           uint64
}

type rmsnormArgs struct {
	StructSize                                   uint32
	Rows, Hidden                                 int32
	Eps                                          float32
	XDType, ResidualDType, WeightDType, OutDType int32
	X                                            uint64
	XRowStride                                   int64
	Residual                                     uint64
	ResidualRowStride                            int64
	Weight                                       uint64
	Out                                          uint64
	OutRowStride                                 int64
}

type gemmArgs struct {
	StructSize                          uint32
	Role, M, N, K, Accumulate           int32
	ADType, WDType, OutDType, BiasDType int32
	A                                   uint64
	ARowStride                          int64
	W                                   uint64
	WRowStride                          int64
	Bias                                uint64
	Out                                 uint64
	OutRowStride                        int64
}

type ropeAppendArgs struct {
	StructSize                            uint32
	Rows, QHeads, KVHeads, HeadDim        int32
	PageSize, QKVDType, KVDType           int32
	Q, K, V                               uint64
	QRowStride, KRowStride, VRowStride    int64
	Position, Seq                         uint64
	CosSin                                uint64
	CosSinRowStride                       int64
	KPages, VPages                        uint64
	KPageStride, KSlotStride, KHeadStride int64
	VPageStride, VSlotStride, VHeadStride int64
	BlockTable                            uint64
	BlockTableStride                      int64
}

type siluMulArgs struct {
	StructSize        uint32
	Rows, FFN         int32
	InDType, OutDType int32
	_                 uint32
	In                uint64
	InRowStride       int64
	Out               uint64
	OutRowStride      int64
}

type normQKVRopeAppendArgs struct {
	StructSize uint32
	Reserved   int32
	Norm       rmsnormArgs
	QKV        gemmArgs
	Rope       ropeAppendArgs
}

type normGateUpSiluArgs struct {
	StructSize uint32
	Reserved   int32
	Norm       rmsnormArgs
	GateUp     gemmArgs
	Silu       siluMulArgs
}

type normHeadArgmaxArgs struct {
	StructSize uint32
	Reserved   int32
	Norm       rmsnormArgs
	Head       gemmArgs
	Token      uint64
	Value      uint64
}

// sizeOf is a struct's size as operator.h has it.
func sizeOf(args any) uint32 { return uint32(binary.Size(args)) }
