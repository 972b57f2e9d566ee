(** From the JSON of a certificate to numbers, graphs and a verdict: the rest of `check` in tools/check_certificate.py.

    Numbers are texts, and read by their digits. Whatever is missing or of another kind is refused. *)

From Coq Require Import ZArith QArith Ascii String List Bool.
From Duotone Require Import Table LineCheck GraphCheck Exponential RenyiTable.
Import ListNotations.
Open Scope Z_scope.

(** JSON as a parser gives it. No float means anything in a certificate; the parser sees to it that names differ. *)
Inductive json := Null | Truth (b : bool) | Integer (n : Z) | Float | Text (s : string) | Items (l : list json)
                | Object (fields : list (string * json)).

Notation "'let!' x ':=' a 'in' b" := (match a with Some x => b | None => None end) (at level 200, x pattern,
  right associativity).
Notation "'need!' a 'in' b" := (if a then b else None) (at level 200, right associativity).

Fixpoint all {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with [] => Some [] | a :: l => let! b := f a in let! bs := all f l in Some (b :: bs) end.

Fixpoint look {A} (name : string) (fields : list (string * A)) : option A :=
  match fields with [] => None | (n, a) :: fields => if String.eqb n name then Some a else look name fields end.

Definition fields (j : json) : option (list (string * json)) := match j with Object f => Some f | _ => None end.
Definition field (name : string) (j : json) : option json := let! f := fields j in look name f.
Definition items (j : json) : option (list json) := match j with Items l => Some l | _ => None end.
Definition text (j : json) : option string := match j with Text s => Some s | _ => None end.
Definition integer (j : json) : option Z := match j with Integer n => Some n | _ => None end.
Definition is_true (j : json) : bool := match j with Truth b => b | _ => false end.
Definition is_text (s : string) (j : json) : bool := match j with Text t => String.eqb t s | _ => false end.

(** ** Numbers *)

Definition digit (c : ascii) : option Z :=
  let n := Z.of_N (N_of_ascii c) - 48 in if (0 <=? n) && (n <=? 9) then Some n else None.

(** The digits that a text begins with: their value, how many there are, and the rest. *)
Fixpoint digits (value count : Z) (l : list ascii) : Z * Z * list ascii :=
  match l with
  | c :: rest => match digit c with Some n => digits (10 * value + n) (count + 1) rest | None => (value, count, l) end
  | [] => (value, count, [])
  end.

(** A power of ten after an e: at most four digits, and at most 5000. *)
Definition exponent (l : list ascii) : option Z :=
  let power sign l := let '(e, count, rest) := digits 0 0 l in
    match rest with [] => if (1 <=? count) && (count <=? 4) && (e <=? 5000) then Some (sign * e) else None | _ => None end in
  match l with
  | [] => Some 0
  | "e"%char :: "-"%char :: l => power (-1) l
  | "e"%char :: "+"%char :: l => power 1 l
  | "e"%char :: l => power 1 l
  | _ => None
  end.

Definition scaled (n e : Z) : Q := if 0 <=? e then (n * 10 ^ e # 1)%Q else (n # Z.to_pos (10 ^ (- e)))%Q.

(** A decimal, or a fraction. *)
Definition number_of (l : list ascii) : option Q :=
  let '(n, count, rest) := digits 0 0 l in
  if 1 <=? count then
    match rest with
    | "/"%char :: l => let '(d, count, rest) := digits 0 0 l in
                       match rest with [] => if (1 <=? count) && (1 <=? d) then Some (n # Z.to_pos d)%Q else None
                       | _ => None end
    | "."%char :: l => let '(f, more, rest) := digits n 0 l in
                       if 1 <=? more then let! e := exponent rest in Some (scaled f (e - more)) else None
    | _ => let! e := exponent rest in Some (scaled n e)
    end
  else None.

Definition long (l : list ascii) : Z := many l.

Definition number (longest : Z) (j : json) : option Q :=
  let! s := text j in
  let l := list_ascii_of_string s in
  need! long l <=? longest in number_of l.

Definition LONGEST := 20000.

(** An entry of a table: a whole number up to ONE, with no more digits than ONE has bits. *)
Definition whole (bits one : Z) (j : json) : option Z :=
  let! s := text j in
  let l := list_ascii_of_string s in
  need! long l <=? bits in
  let '(n, count, rest) := digits 0 0 l in
  match rest with [] => if (1 <=? count) && (n <=? one) then Some n else None | _ => None end.

(** ** Certificates *)

(** The budget that a certificate states; or one Rényi order, less 1, with its price and its d. *)
Record budget := { stated_ratio : Q; stated_epsilon : option Q; stated_delta : Q }.
Record order_budget := { stated_power : positive; stated_price : Q; stated_lost : Q }.
Inductive promise := ByRatio (b : budget) | ByOrder (o : order_budget).

Definition read_budget (j : json) : option budget :=
  let! r := field "ratio" j in let! y := number LONGEST r in
  let! t := field "delta" j in let! d := number LONGEST t in
  let! e := field "epsilon" j in
  let! epsilon := match e with Null => Some None | _ => option_map Some (number 3000 e) end in
  Some {| stated_ratio := y; stated_epsilon := epsilon; stated_delta := d |}.

Definition read_order (order j : json) : option order_budget :=
  let! n := integer order in need! (2 <=? n) && (n <=? 256) in
  let! p := field "price" j in let! price := number LONGEST p in
  let! t := field "delta" j in let! d := number LONGEST t in
  need! Qle_bool 1 price && Qle_bool 0 d && negb (Qle_bool 1 d) in
  Some {| stated_power := Z.to_pos (n - 1); stated_price := price; stated_lost := d |}.

Definition read_promise (j : json) : option promise :=
  match field "order" j with
  | Some order => option_map ByOrder (read_order order j)
  | None => option_map ByRatio (read_budget j)
  end.

Definition read_boundary (j : json) : option boundary :=
  if is_text "balanced" j then Some Balanced else option_map Value (number LONGEST j).

Definition read_value (e : string * json) : option (string * boundary) :=
  let! b := read_boundary (snd e) in Some (fst e, b).

(** A row: the numbers of yes and no, which add up to ONE. *)
Definition read_row (bits one : Z) (j : json) : option (Z * Z) :=
  let! r := field "numbers" j in let! r := items r in
  match r with
  | [y; n] => let! y := whole bits one y in let! n := whole bits one n in need! y + n =? one in Some (y, n)
  | _ => None
  end.

Lemma read_row_adds_up bits one j y n : read_row bits one j = Some (y, n) -> y + n = one.
Proof.
  unfold read_row. destruct (field "numbers" j) as [r|]; [|discriminate]. destruct (items r) as [l|]; [|discriminate].
  destruct l as [| a [| b [| c l]]]; try discriminate. destruct (whole bits one a); [|discriminate].
  destruct (whole bits one b); [|discriminate]. destruct (Z.eqb_spec (z + z0) one); [|discriminate].
  intros H; injection H as <- <-. assumption.
Qed.

Record level := { of_yes : Z; of_no : Z; level_error : Q }.

Definition read_level (bits one : Z) (j : json) : option level :=
  let! (y, n) := read_row bits one j in let! e := field "error" j in let! e := number LONGEST e in
  Some {| of_yes := y; of_no := n; level_error := e |}.

(** Levels from the lowest on: those below 0, the last one first, and those from 0 on. *)
Fixpoint two_sides (at_level : Z) (levels below : list level) : list level * list level :=
  match levels with
  | l :: rest => if at_level <? 0 then two_sides (at_level + 1) rest (l :: below) else (below, levels)
  | [] => (below, [])
  end.

Record line_certificate := {
  line_boundary : boundary;
  line_cap : option Z;
  line_blue : list Z; line_red : list Z;
  blue_error : list Q; red_error : list Q
}.

(** A line; one with margins claims them, and only that. *)
Definition read_line (margins : bool) (bits one : Z) (j : json) : option line_certificate :=
  let! b := field "boundary" j in
  let! boundary := if is_text "selection" b then Some Selection else read_boundary b in
  let! l := field "lowest" j in let! lowest := integer l in
  let! c := field "cap" j in let! cap := match c with Null => Some None | _ => option_map Some (integer c) end in
  let! claims := field "claims" j in
  need! (match field "margin" claims with Some m => margins && is_true m | None => negb margins end) in
  let! r := field "rows" j in let! r := items r in let! levels := all (read_level bits one) r in
  let (red, blue) := two_sides lowest levels [] in
  Some {| line_boundary := boundary; line_cap := cap; line_blue := map of_yes blue; line_red := map of_no red;
          blue_error := map level_error blue; red_error := map level_error red |}.

Definition read_node (bits one : Z) (e : string * json) : option (string * node) :=
  let! (y, n) := read_row bits one (snd e) in
  let! colour := field "colour" (snd e) in
  let! blue := if is_text "blue" colour then Some true else if is_text "red" colour then Some false else None in
  let! c := field "error" (snd e) in let! claimed := number LONGEST c in
  let w := let! w := field "from" (snd e) in text w in
  Some (fst e, {| says_truth := if blue then y else n; is_blue := blue; claimed := claimed; from := w |}).

Definition read_edge (j : json) : option (string * string) :=
  let! ends := items j in match ends with [Text a; Text b] => Some (a, b) | _ => None end.

Definition read_path (e : string * json) : option (string * list string) :=
  let! path := items (snd e) in let! names := all text path in Some (fst e, names).

Definition read_graph (bits one : Z) (j : json) : option certificate :=
  let! n := field "rows" j in let! n := fields n in let! nodes := all (read_node bits one) n in
  let! e := field "edges" j in let! e := items e in let! edges := all read_edge e in
  let! l := field "lowered" j in let! l := fields l in let! lowered := all read_path l in
  let! b := field "boundary" j in
  let! values := match b with
                 | Object values => let! values := all read_value values in Some (Each (by_name values))
                 | _ => option_map Everywhere (read_boundary b)
                 end in
  Some {| nodes := nodes; edges := edges; values := values; lowered := lowered |}.

(** ** The verdict *)

Inductive kind := Line | Graph.

Record stated := { of_kind : kind; bits_of : Z; of_promise : promise }.

(** The bits of ONE, and the claims: nothing but what is proved here. *)
Definition read_stated (j : json) : option stated :=
  let! c := field "certificate" j in need! is_text "duotone" c in
  let! r := field "rows" j in let! k := match r with Items _ => Some Line | Object _ => Some Graph | _ => None end in
  let! o := field "outcomes" j in let! o := items o in
  need! (match o with [y; n] => is_text "yes" y && is_text "no" n | _ => false end) in
  let! v := field "version" j in let! v := integer v in need! v =? 1 in
  let! b := field "bits" j in let! bits := integer b in need! (64 <=? bits) && (bits <=? 2 ^ 14) in
  let! claims := field "claims" j in
  let! c := field "private" claims in need! is_true c in
  let! c := field "optimal" claims in need! is_true c in
  let! c := field "loss" claims in need! is_text "2^-60" c in
  let! p := field "privacy" j in let! promise := read_promise p in
  Some {| of_kind := k; bits_of := bits; of_promise := promise |}.

Definition check_by_ratio (k : kind) (bits : Z) (b : budget) (j : json) : option (kind * Z) :=
  let one := Z.shiftl 1 bits in
  let! (y, above, d) := definition (stated_ratio b) (stated_epsilon b) (stated_delta b) in
  match k with
  | Line => let! l := read_line true bits one j in
            need! check_line one y above d (shrunk bits y d) (line_cap l) (line_boundary l) (line_blue l) (line_red l)
                             (blue_error l) (red_error l) in
            Some (Line, many (line_blue l) + many (line_red l))
  | Graph => let! g := read_graph bits one j in
             need! check_graph one y above d g in
             Some (Graph, many (nodes g))
  end.

(** A margin is not free under one Rényi order, and so none is claimed: nor are levels clipped for one. *)
Definition check_by_order (k : kind) (bits : Z) (o : order_budget) (j : json) : option (kind * Z) :=
  let one := Z.shiftl 1 bits in
  let may := by_price one (stated_power o) (stated_price o) (stated_lost o) in
  let rise := renyi_rise one (stated_power o) (stated_price o) (stated_lost o) in
  match k with
  | Line => let! l := read_line false bits one j in
            need! (match line_cap l with None => true | Some _ => false end) in
            need! check_sides one may rise (renyi_balanced one) (reach None (line_blue l) (line_red l)) (line_boundary l)
                              (line_blue l) (line_red l) (blue_error l) (red_error l) in
            Some (Line, many (line_blue l) + many (line_red l))
  | Graph => let! g := read_graph bits one j in
             let down := renyi_down one (stated_power o) (stated_price o) (stated_lost o) in
             let size := (bit_length one + length_of (stated_price o) + length_of (stated_lost o)) * Zpos (stated_power o) in
             need! check_nodes one may rise (renyi_balanced one) down size g in
             Some (Graph, many (nodes g))
  end.

(** Whether a certificate is proved, and how many levels or datasets it has. *)
Definition check (j : json) : option (kind * Z) :=
  let! s := read_stated j in
  match of_promise s with
  | ByRatio b => check_by_ratio (of_kind s) (bits_of s) b j
  | ByOrder o => check_by_order (of_kind s) (bits_of s) o j
  end.
