package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// frameHead is the length and the checksum before each frame.
const frameHead = 8

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errTorn    = errors.New("frame is torn or damaged")
)

func appendFrame(b, frame []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	b = binary.LittleEndian.AppendUint32(b, checksum(frame))
	return append(b, frame...)
}

// checksum covers the length too, so that a run of zeros is no frame.
func checksum(frame []byte) uint32 {
	var length [4]byte
	binary.LittleEndian.PutUint32(length[:], uint32(len(frame)))
	return crc32.Update(crc32.Checksum(length[:], castagnoli), castagnoli, frame)
}

// readFrame returns io.EOF at the end, errTorn when less than a sound frame is
// left of the remaining bytes.
func readFrame(r io.Reader, remaining int64) ([]byte, error) {
	if remaining == 0 {
		return nil, io.EOF
	}
	var head [frameHead]byte
	if remaining < frameHead {
		return nil, errTorn
	}
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	if length > remaining-frameHead {
		return nil, errTorn
	}
	frame := make([]byte, length)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	if checksum(frame) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errTorn
	}
	return frame, nil
}
