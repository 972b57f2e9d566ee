(** The check of a certificate of one answer among k, as a function on integers, and how it is read: what `which` of
    tools/check_certificate.py does by (eps, delta). WhichRight.v says what it proves.

    A row has a number for each place in an order of preference; or one for the truth, and one for all others together. *)

From Coq Require Import ZArith QArith Ascii String List Bool.
From Duotone Require Import Table Margin LineCheck Exponential ReadCertificate.
Import ListNotations.
Open Scope Z_scope.

Definition sum_of (row : list Z) : Z := fold_right Z.add 0 row.

(** Sums of the first one, two, three ... numbers. *)
Fixpoint running (before : Z) (row : list Z) : list Z :=
  match row with [] => [] | n :: row => (before + n) :: running (before + n) row end.

Section Check.
(** ONE; the ratio and delta, a bound on the ratio from above, and what the table keeps to; how many answers; and whether the
    others stand together. *)
Variables (one : Z) (y above d small_y small_d : Q) (k : Z) (together : bool).

Definition which_row (row : list Z) : bool :=
  forallb (fun n => (0 <=? n) && (n <=? one)) row && (sum_of row =? one) && (many row =? if together then 2 else k).

(** In the first row the others are alike, and q is the least that privacy allows where two answers change places. *)
Definition first_row (row : list Z) : bool :=
  match row with
  | t :: others =>
      let q := (one - t) / (k - 1) in
      (t + (k - 1) * q =? one) && (0 <? q) && (q <=? t) && (together || forallb (Z.eqb q) others) &&
      fits one y d t q && fits one small_y small_d t q && negb (fits one small_y small_d (t + (k - 1)) (q - 1))
  | [] => false
  end.

Fixpoint neighbours_private (rows : list (list Z)) : bool :=
  match rows with
  | row :: rows => match rows with next :: _ => over_all_events one y d row next | [] => true end && neighbours_private rows
  | [] => true
  end.

(** No private mechanism whose others are alike has less than this for each of them: (1 - delta) / (above + k - 1). *)
Definition least_other : Z :=
  (Zpos (Qden d) - Qnum d) * Zpos (Qden above) * one / (Zpos (Qden d) * (Qnum above + (k - 1) * Zpos (Qden above))).

(** Of each prefix sum, by distance: as large as possible beside the one before, and near the bound from above, which at
    distance 0 is all but what so many others have at least. *)
Fixpoint which_columns (rest : Z) (n : nat) (sums : list (list Z)) : bool :=
  match n with
  | S n => match map (hd 0) sums with
           | here :: column => checked_side one (allowed one small_y small_d) (ceiling one above d) (many sums) here column
                                            (one - rest * least_other)
           | [] => false
           end && which_columns (rest - 1) n (map (@tl Z) sums)
  | O => true
  end.

Definition check_which (rows : list (list Z)) : bool :=
  match rows with
  | row :: _ => forallb which_row rows && first_row row && neighbours_private rows &&
                which_columns (k - 1) (length row - 1) (map (running 0) rows)
  | [] => false
  end.

End Check.

(** ** Reading *)

Definition read_numbers (bits one : Z) (j : json) : option (list Z) :=
  let! r := field "numbers" j in let! r := items r in all (whole bits one) r.

(** The digits of a place, as one writes them. *)
Definition is_place (i : Z) (j : json) : bool :=
  match j with
  | Text s => let l := list_ascii_of_string s in
              let '(n, count, rest) := digits 0 0 l in
              match rest with [] => true | _ => false end && (1 <=? count) && (n =? i) &&
              match l with c :: _ :: _ => negb (Ascii.eqb c "0") | _ => true end
  | _ => false
  end.

Fixpoint places (i : Z) (l : list json) : bool :=
  match l with j :: l => is_place i j && places (i + 1) l | [] => true end.

Record which_certificate := { of_answers : Z; others_together : bool; which_rows : list (list Z) }.

Definition MOST_ANSWERS := 2 ^ 16.

Definition read_which (bits one : Z) (j : json) : option which_certificate :=
  let! claims := field "claims" j in
  let! w := field "which" claims in let! told := fields w in need! many told =? 2 in
  let! a := field "answers" w in let! k := integer a in need! (2 <=? k) && (k <=? MOST_ANSWERS) in
  let! o := field "ordered" w in let! ordered := match o with Truth b => Some b | _ => None end in
  let together := negb ordered && negb (k =? 2) in
  let! o := field "outcomes" j in let! outcomes := items o in
  need! (if together then match outcomes with [a; b] => is_place 0 a && is_text "others" b | _ => false end
         else (many outcomes =? k) && places 0 outcomes) in
  let! l := field "lowest" j in let! lowest := integer l in need! lowest =? 0 in
  need! (match field "selection" j with None => true | Some _ => false end) in
  let! r := field "rows" j in let! r := items r in let! rows := all (read_numbers bits one) r in
  Some {| of_answers := k; others_together := together; which_rows := rows |}.

(** The bits of ONE, the claims and the budget; of one Rényi order nothing is proved here. *)
Definition read_which_stated (j : json) : option (Z * budget) :=
  let! c := field "certificate" j in need! is_text "duotone" c in
  let! v := field "version" j in let! v := integer v in need! v =? 1 in
  let! b := field "bits" j in let! bits := integer b in need! (64 <=? bits) && (bits <=? 2 ^ 14) in
  let! claims := field "claims" j in
  let! c := field "private" claims in need! is_true c in
  let! c := field "optimal" claims in need! is_true c in
  let! c := field "loss" claims in need! is_text "2^-60" c in
  let! p := field "privacy" j in let! promise := read_promise p in
  match promise with ByRatio b => Some (bits, b) | ByOrder _ => None end.

(** Whether a certificate of one answer among k is proved: k, and how many distances it has. *)
Definition which (j : json) : option (Z * Z) :=
  let! (bits, b) := read_which_stated j in
  let one := Z.shiftl 1 bits in
  let! (y, above, d) := definition (stated_ratio b) (stated_epsilon b) (stated_delta b) in
  let (small_y, small_d) := shrunk bits y d in
  let! c := read_which bits one j in
  need! check_which one y above d small_y small_d (of_answers c) (others_together c) (which_rows c) in
  Some (of_answers c, many (which_rows c)).
