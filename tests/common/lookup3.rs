//! Bob Jenkins' lookup3 as HDF5 uses it, for tests that put right checksums on wrong files.

pub fn hash(bytes: &[u8]) -> u32 {
    let mut s = [0xdead_beef_u32.wrapping_add(bytes.len() as u32); 3];
    let mut blocks: Vec<[u32; 3]> = Vec::new();
    for block in bytes.chunks(12) {
        let mut padded = [0u8; 12];
        padded[..block.len()].copy_from_slice(block);
        blocks.push([0, 1, 2].map(|k| u32::from_le_bytes(padded[4 * k..4 * k + 4].try_into().unwrap())));
    }
    let Some((last, rest)) = blocks.split_last() else { return s[2] };
    for block in rest {
        (0..3).for_each(|k| s[k] = s[k].wrapping_add(block[k]));
        for (k, turn) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
            let (x, y, z) = (k % 3, (k + 1) % 3, (k + 2) % 3);
            s[x] = s[x].wrapping_sub(s[z]) ^ s[z].rotate_left(turn);
            s[z] = s[z].wrapping_add(s[y]);
        }
    }
    (0..3).for_each(|k| s[k] = s[k].wrapping_add(last[k]));
    for (k, turn) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
        let (x, y) = ((k + 2) % 3, (k + 1) % 3);
        s[x] = (s[x] ^ s[y]).wrapping_sub(s[y].rotate_left(turn));
    }
    s[2]
}
