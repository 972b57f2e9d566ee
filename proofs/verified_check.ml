(* Reads certificates and gives them to the proved check: all that is not proved is here. JSON strictly, as Python's reader has it:
   UTF-8, a name once in an object, numbers finite and short. *)

open Checked

exception Unreadable

let refuse () = raise Unreadable
let need condition = if not condition then refuse ()

(* One character as UTF-8; half a surrogate pair is kept, as Python does. *)
let add_char buffer code =
  let byte n = Buffer.add_char buffer (Char.chr n) in
  let tail shift = byte (0x80 lor ((code lsr shift) land 0x3f)) in
  if code < 0x80 then byte code
  else if code < 0x800 then (byte (0xc0 lor (code lsr 6)); tail 0)
  else if code < 0x10000 then (byte (0xe0 lor (code lsr 12)); tail 6; tail 0)
  else (byte (0xf0 lor (code lsr 18)); tail 12; tail 6; tail 0)

(* Whether a text is UTF-8: no character longer than it must be, no surrogates, none beyond the last. *)
let rec is_utf_8 text at =
  let length = String.length text in
  let byte i = if at + i < length then Char.code text.[at + i] else 0 in
  let tail i = byte i land 0xc0 = 0x80 in
  at >= length ||
  let first = byte 0 and second = byte 1 in
  let size =
    if first < 0x80 then 1
    else if first >= 0xc2 && first < 0xe0 && tail 1 then 2
    else if first land 0xf0 = 0xe0 && tail 1 && tail 2 && not (first = 0xe0 && second < 0xa0) && not (first = 0xed && second >= 0xa0)
    then 3
    else if first >= 0xf0 && first < 0xf5 && tail 1 && tail 2 && tail 3
            && not (first = 0xf0 && second < 0x90) && not (first = 0xf4 && second >= 0x90)
    then 4
    else 0 in
  size > 0 && is_utf_8 text (at + size)

let parse text =
  need (is_utf_8 text 0);
  let at = ref 0 and length = String.length text in
  let here () = if !at < length then text.[!at] else '\000' in
  let skip n = at := !at + n in
  let expect word =
    let n = String.length word in
    need (!at + n <= length && String.sub text !at n = word);
    skip n in
  let rec space () = match here () with ' ' | '\t' | '\n' | '\r' -> skip 1; space () | _ -> () in
  let hex () =
    need (!at + 4 <= length);
    let digits = String.sub text !at 4 in
    String.iter (function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> () | _ -> refuse ()) digits;
    skip 4;
    int_of_string ("0x" ^ digits) in
  let escaped buffer =
    let high = hex () in
    if high land 0xfc00 <> 0xd800 || !at + 6 > length || String.sub text !at 2 <> "\\u" then add_char buffer high
    else begin
      let back = !at in
      skip 2;
      let low = hex () in
      if low land 0xfc00 = 0xdc00 then add_char buffer (0x10000 + ((high land 0x3ff) lsl 10) + (low land 0x3ff))
      else (at := back; add_char buffer high)
    end in
  let text_here () =
    expect "\"";
    let buffer = Buffer.create 64 in
    let rec go () =
      need (!at < length);
      let c = here () in
      skip 1;
      match c with
      | '"' -> Buffer.contents buffer
      | '\\' ->
          let c = here () in
          skip 1;
          (match c with
           | '"' | '\\' | '/' -> Buffer.add_char buffer c
           | 'b' -> Buffer.add_char buffer '\b'
           | 'f' -> Buffer.add_char buffer '\012'
           | 'n' -> Buffer.add_char buffer '\n'
           | 'r' -> Buffer.add_char buffer '\r'
           | 't' -> Buffer.add_char buffer '\t'
           | 'u' -> escaped buffer
           | _ -> refuse ());
          go ()
      | c -> need (c >= ' '); Buffer.add_char buffer c; go () in
    go () in
  let digits () =
    let start = !at in
    while (match here () with '0' .. '9' -> true | _ -> false) do skip 1 done;
    need (!at > start) in
  let number () =
    let start = !at in
    if here () = '-' then skip 1;
    if here () = '0' then skip 1 else digits ();
    let whole = !at in
    if here () = '.' then (skip 1; digits ());
    (match here () with 'e' | 'E' -> skip 1; (match here () with '+' | '-' -> skip 1 | _ -> ()); digits () | _ -> ());
    let written = String.sub text start (!at - start) in
    need (String.length written <= 40);
    if !at = whole then Integer (Big_int_Z.big_int_of_string written)
    else (need (Float.is_finite (float_of_string written)); Float) in
  let rec value depth =
    need (depth < 500);
    space ();
    match here () with
    | '"' -> Text (text_here ())
    | '{' -> Object (several '}' (fun () -> space (); let name = text_here () in space (); expect ":"; (name, value (depth + 1))))
    | '[' -> Items (several ']' (fun () -> value (depth + 1)))
    | 't' -> expect "true"; Truth true
    | 'f' -> expect "false"; Truth false
    | 'n' -> expect "null"; Null
    | _ -> number ()
  and several : 'a. char -> (unit -> 'a) -> 'a list = fun last item ->
    skip 1;
    space ();
    if here () = last then (skip 1; [])
    else
      let rec go found =
        let found = item () :: found in
        space ();
        let c = here () in
        skip 1;
        if c = ',' then go found else (need (c = last); List.rev found) in
      go [] in
  let whole = value 0 in
  space ();
  need (!at = length);
  whole

let rec names_once = function
  | Object fields ->
      let sorted = List.sort_uniq compare (List.map fst fields) in
      need (List.length sorted = List.length fields);
      List.iter (fun (_, item) -> names_once item) fields
  | Items items -> List.iter names_once items
  | _ -> ()

let read file =
  let channel = open_in_bin file in
  let text = really_input_string channel (in_channel_length channel) in
  close_in channel;
  let certificate = parse text in
  names_once certificate;
  certificate

(* The definition as the certificate states it, digit for digit: what was read is a number, and so has nothing but digits, points
   and the like in it. *)
let field name = function Object fields -> List.assoc_opt name fields | _ -> refuse ()
let stated privacy name = match field name privacy with
  | Some (Text number) -> name ^ " " ^ number
  | Some (Integer number) -> name ^ " " ^ Big_int_Z.string_of_big_int number
  | _ -> refuse ()

let definition privacy =
  let names = match field "order" privacy, field "epsilon" privacy with
    | Some _, _ -> ["order"; "price"]
    | None, Some Null -> ["ratio"]
    | _ -> ["epsilon"] in
  String.concat ", " (List.map (stated privacy) (names @ ["delta"]))

let verdict file =
  let proved certificate (kind, count) =
    let privacy = Option.get (field "privacy" certificate) in
    let margins = if field "order" privacy = None then ", with their margins," else "" in
    let rows = match kind with Line -> " levels" ^ margins | Graph -> " datasets" in
    Big_int_Z.string_of_big_int count ^ rows ^ " are private and optimal under " ^ definition privacy in
  let chosen certificate (answers, count) =
    let privacy = Option.get (field "privacy" certificate) in
    let written = Big_int_Z.string_of_big_int in
    "answers, one among " ^ written answers ^ ", at " ^ written count ^ " distances are private and optimal under " ^ definition privacy in
  try
    let certificate = read file in
    match check certificate with
    | Some found -> Some (proved certificate found)
    | None -> Option.map (chosen certificate) (which certificate)
  with Unreadable | Sys_error _ | End_of_file | Stack_overflow | Out_of_memory -> None

let () =
  let files = List.tl (Array.to_list Sys.argv) in
  if files = [] then (prerr_endline "give certificate files of yes/no answers, or of one answer among several"; exit 2);
  let proved file =
    let found = verdict file in
    print_endline (match found with
      | Some what -> "PROVED: " ^ what
      | None -> "NOT PROVED");
    found <> None in
  if not (List.for_all Fun.id (List.map proved files)) then exit 1
